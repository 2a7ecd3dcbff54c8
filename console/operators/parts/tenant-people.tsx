import { useResource } from "../../core/use-resource.ts";
import { Empty } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Person } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay } from "../core/session-context.ts";
import { At, Waiting } from "./common-parts.tsx";

/** The people who may sign in to a tenant's console. */
export function TenantPeople({ tenantId }: { readonly tenantId: string }) {
  const mayRemove = useMay("TenantService/RemovePerson");
  const list = useResource(`people ${tenantId}`, (signal) =>
    rpc<{ people: Person[] }>("TenantService/ListPeople", { tenantId }, signal),
  );
  const people = list.data?.people ?? [];
  return (
    <section aria-labelledby="people">
      <h2 id="people">People</h2>
      <Waiting of={list} />
      {list.data !== undefined && people.length === 0 && (
        <Empty title="No person signs in to this account by name." />
      )}
      {people.length > 0 && (
        <Table
          caption="People"
          rows={people}
          keyOf={({ id }) => id}
          columns={[
            { heading: "E-mail", cell: (row) => row.email },
            { heading: "Role", cell: (row) => word(row.role, "ROLE") },
            { heading: "Joined", cell: (row) => <At ms={row.joinedAtMs} /> },
            ...(mayRemove
              ? [
                  {
                    heading: "Change",
                    cell: (row: Person) => (
                      <ConfirmButton
                        label="Remove"
                        title={`Remove ${row.email}?`}
                        act={() =>
                          rpc("TenantService/RemovePerson", { tenantId, personId: row.id })
                        }
                        onDone={list.reload}
                      >
                        The person is signed out within five seconds.
                      </ConfirmButton>
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
    </section>
  );
}
