import { useResource } from "../../core/use-resource.ts";
import { PageTitle } from "../../parts/common-parts.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Operator } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { At, Waiting } from "../parts/common-parts.tsx";

const RIGHTS: Readonly<Record<string, string>> = {
  support: "Reads and finds.",
  operator: "Also changes tenants, sender IDs, connectors and routes.",
  finance: "Also funds wallets.",
  admin: "All of it.",
};

/** The people who may sign in here. Commands add and remove them. */
export function PeoplePage() {
  const list = useResource(
    "operators",
    (signal) => rpc<{ operators: Operator[] }>("TenantService/ListOperators", {}, signal),
    30_000,
  );
  return (
    <>
      <PageTitle
        note={
          <>
            Added by <code>smsctl console link --operator</code>, removed by{" "}
            <code>smsctl console remove-operator</code>.
          </>
        }
      >
        Operators
      </PageTitle>
      <Waiting of={list} />
      {list.data !== undefined && (
        <Table
          caption="Operators"
          rows={list.data.operators}
          keyOf={({ person }) => person}
          columns={[
            { heading: "Person", cell: (row) => row.person },
            { heading: "Role", cell: (row) => word(row.role, "OPERATOR_ROLE") },
            {
              heading: "May",
              cell: (row) => RIGHTS[word(row.role, "OPERATOR_ROLE")] ?? "",
              isMinor: true,
            },
            { heading: "Last sign-in", cell: (row) => <At ms={row.lastSignInAtMs} /> },
            { heading: "Since", cell: (row) => <At ms={row.createdAtMs} />, isMinor: true },
          ]}
        />
      )}
    </>
  );
}
