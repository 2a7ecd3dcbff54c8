import { useCallback, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { usePages } from "../../core/use-pages.ts";
import { Empty, PageTitle, Status } from "../../parts/common-parts.tsx";
import { TextField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Tenant } from "../api/types.ts";
import { At, Waiting } from "../parts/common-parts.tsx";

/** All tenants, searched by name or id. */
export function TenantsPage() {
  const { query, route } = useLocation();
  const wanted = query.q ?? "";
  const [text, setText] = useState(wanted);
  const load = useCallback((cursor?: string) => listTenants(wanted, cursor), [wanted]);
  const list = usePages(`tenants ${wanted}`, load, 30_000);
  return (
    <>
      <PageTitle note="The customers of this installation.">Tenants</PageTitle>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          route(
            text === "" ? "/operators/tenants" : `/operators/tenants?q=${encodeURIComponent(text)}`,
          );
        }}
      >
        <TextField label="Name or id" value={text} onInput={setText} hint="A part of the name." />
        <div class="actions">
          <button type="submit" class="primary">
            Search
          </button>
        </div>
      </form>
      <Waiting of={list} />
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No tenant matches.">Take a part of the name away.</Empty>
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Tenants"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            {
              heading: "Name",
              cell: (row) => <a href={`/operators/tenants/${row.id}`}>{row.name}</a>,
            },
            {
              heading: "Status",
              cell: (row) => <Status value={row.suspended ? "suspended" : "active"} />,
            },
            { heading: "Plan", cell: (row) => row.plan },
            { heading: "Currency", cell: (row) => row.currency, isMinor: true },
            {
              heading: "Requests per second",
              isNumber: true,
              isMinor: true,
              cell: (row) => row.rateLimit.toLocaleString(),
            },
            { heading: "Since", cell: (row) => <At ms={row.createdAtMs} />, isMinor: true },
            { heading: "Id", cell: (row) => <code>{row.id}</code>, isMinor: true },
          ]}
        />
      )}
    </>
  );
}

async function listTenants(wanted: string, cursor = "") {
  if (/^ten_[0-9A-Z]{26}$/.test(wanted)) {
    const found = await rpc<{ tenants: Tenant[] }>("TenantService/GetTenants", { ids: [wanted] });
    return { data: found.tenants, next_cursor: null };
  }
  const page = await rpc<{ tenants: Tenant[]; nextCursor: string }>("TenantService/ListTenants", {
    ...{ limit: 50, cursor, nameContains: wanted },
  });
  return { data: page.tenants, next_cursor: page.nextCursor || null };
}
