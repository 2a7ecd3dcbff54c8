import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useResource } from "../../core/use-resource.ts";
import { Empty, PageTitle } from "../../parts/common-parts.tsx";
import { TextField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { AuditRecord } from "../api/types.ts";
import { tenantNames } from "../core/tenant-names.ts";
import { At, TenantLink, Waiting } from "../parts/common-parts.tsx";

const TRAILS = [
  ...["TenantService/ListAuditRecords", "SenderIdService/ListAuditRecords"],
  ...["WalletService/ListAuditRecords", "RoutingService/ListAuditRecords"],
  ...["MessagingService/ListAuditRecords", "WebhookService/ListAuditRecords"],
  ...["CampaignService/ListAuditRecords", "ConsentService/ListAuditRecords"],
] as const;
const SHOWN = 100;

/** The newest changes of all services, each with its author. */
export function AuditPage() {
  const { query, route } = useLocation();
  const [form, setForm] = useState({ tenant: query.tenant ?? "", actor: query.actor ?? "" });
  const { tenant: tenantId = "", actor = "" } = query;
  const found = useResource(`audit ${tenantId} ${actor}`, async (signal) => {
    const request = { tenantId, actor, limit: SHOWN };
    const pages = await Promise.all(
      TRAILS.map((method) => rpc<{ records: AuditRecord[] }>(method, request, signal)),
    );
    const records = pages
      .flatMap((page) => page.records)
      .sort((a, b) => Number(b.createdAtMs) - Number(a.createdAtMs))
      .slice(0, SHOWN);
    return {
      records,
      names: await tenantNames(
        records.map((one) => one.tenantId),
        signal,
      ),
    };
  });
  const { records = [], names } = found.data ?? {};
  return (
    <>
      <PageTitle note={`The newest ${SHOWN} changes of all services; smsctl audit shows all.`}>
        Audit
      </PageTitle>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          route(`/operators/audit?${new URLSearchParams(form)}`);
        }}
      >
        <TextField
          label="Tenant id"
          value={form.tenant}
          onInput={(tenant) => setForm({ ...form, tenant })}
        />
        <TextField
          label="Person"
          value={form.actor}
          onInput={(value) => setForm({ ...form, actor: value })}
          hint="Exactly as the trail has it."
        />
        <div class="actions">
          <button type="submit" class="primary">
            Show
          </button>
        </div>
      </form>
      <Waiting of={found} />
      {found.data !== undefined && records.length === 0 && <Empty title="No change matches." />}
      {records.length > 0 && (
        <Table
          caption="Changes"
          rows={records}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Time", cell: (row) => <At ms={row.createdAtMs} /> },
            { heading: "Change", cell: (row) => row.method.slice(row.method.indexOf("/") + 1) },
            { heading: "By", cell: (row) => row.actor?.name ?? `service ${row.caller}` },
            {
              heading: "Tenant",
              isMinor: true,
              cell: (row) => <TenantLink id={row.tenantId} name={names?.get(row.tenantId)} />,
            },
            { heading: "What", cell: (row) => <What record={row} /> },
          ]}
        />
      )}
    </>
  );
}

function What({ record }: { readonly record: AuditRecord }) {
  const { before, after, subject } = record;
  if (before === "" && after === "") return <code>{subject}</code>;
  return (
    <details>
      <summary>{before === "" ? "made" : after === "" ? "removed" : "changed"}</summary>
      <p>
        <code>{subject}</code>
      </p>
      {before !== "" && <pre>{before}</pre>}
      {after !== "" && <pre>{after}</pre>}
    </details>
  );
}
