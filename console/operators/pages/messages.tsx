import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useResource } from "../../core/use-resource.ts";
import { Empty, PageTitle, Status } from "../../parts/common-parts.tsx";
import { TextField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Message } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { tenantNames } from "../core/tenant-names.ts";
import { At, TenantLink, Waiting } from "../parts/common-parts.tsx";

const MESSAGE_ID = /^msg_[0-9A-Z]{26}$/;

/** Finds messages by id or number over all tenants. Each search leaves an entry in the audit trail. */
export function MessagesPage() {
  const { query, route } = useLocation();
  const wanted = query.q ?? "";
  const [text, setText] = useState(wanted);
  return (
    <>
      <PageTitle note="Of every tenant. Each search is in the audit trail.">
        Find a message
      </PageTitle>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          const asked = text.trim();
          if (MESSAGE_ID.test(asked)) route(`/operators/messages/${asked}`);
          else route(`/operators/messages?q=${encodeURIComponent(asked)}`);
        }}
      >
        <TextField
          label="Message id or number"
          required
          value={text}
          onInput={setText}
          hint="msg_… or +2348031234567"
        />
        <div class="actions">
          <button type="submit" class="primary">
            Find
          </button>
        </div>
      </form>
      {wanted !== "" && <Found key={wanted} to={wanted} />}
    </>
  );
}

/** Pages of a hundred tenants are searched until there are some messages; "Search on" searches further ones. */
function Found({ to }: { readonly to: string }) {
  const [from, setFrom] = useState("");
  const found = useResource(`find ${to} ${from}`, async (signal) => {
    const request = { to, limit: 50, afterTenantId: from };
    const page = await rpc<{ messages: Message[]; nextTenantId: string }>(
      "MessagingService/FindMessages",
      request,
      signal,
    );
    const names = await tenantNames(
      page.messages.map(({ tenantId }) => tenantId),
      signal,
    );
    return { ...page, names };
  });
  const { messages = [], nextTenantId = "", names } = found.data ?? {};
  return (
    <>
      <Waiting of={found} />
      {found.data !== undefined && messages.length === 0 && (
        <Empty title={nextTenantId === "" ? "No message to this number." : "None so far."}>
          {nextTenantId === "" ? "Write it with its country: +234…" : "More tenants follow."}
        </Empty>
      )}
      {messages.length > 0 && (
        <Table
          caption="Messages"
          rows={messages}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Time", cell: (row) => <At ms={row.createdAtMs} /> },
            {
              heading: "To",
              cell: (row) => <a href={`/operators/messages/${row.id}`}>{row.to}</a>,
            },
            {
              heading: "Tenant",
              cell: (row) => <TenantLink id={row.tenantId} name={names?.get(row.tenantId)} />,
            },
            { heading: "From", cell: (row) => row.from, isMinor: true },
            {
              heading: "Status",
              cell: (row) => (
                <>
                  <Status value={word(row.status, "MESSAGE_STATUS")} />
                  {row.error !== undefined && <span class="muted"> {row.error.message}</span>}
                </>
              ),
            },
            { heading: "Connector", cell: (row) => row.connectorId || "–", isMinor: true },
            { heading: "Mode", cell: (row) => word(row.mode, "MODE"), isMinor: true },
          ]}
        />
      )}
      {nextTenantId !== "" && (
        <button type="button" onClick={() => setFrom(nextTenantId)}>
          Search on
        </button>
      )}
    </>
  );
}
