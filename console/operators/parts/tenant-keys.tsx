import { useResource } from "../../core/use-resource.ts";
import { Empty, Status } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { ApiKey } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay } from "../core/session-context.ts";
import { At, Waiting } from "./common-parts.tsx";

/** A tenant's API keys, newest first; a lost one is revoked here. */
export function TenantKeys({ tenantId }: { readonly tenantId: string }) {
  const mayRevoke = useMay("TenantService/RevokeApiKey");
  const list = useResource(`keys ${tenantId}`, (signal) =>
    rpc<{ keys: ApiKey[] }>("TenantService/ListApiKeys", { tenantId, limit: 100 }, signal),
  );
  const keys = list.data?.keys ?? [];
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      <Waiting of={list} />
      {list.data !== undefined && keys.length === 0 && <Empty title="No key." />}
      {keys.length > 0 && (
        <Table
          caption="API keys"
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Name", cell: (row) => row.name || <code>{row.id}</code> },
            { heading: "Mode", cell: (row) => word(row.mode, "MODE") },
            { heading: "Ends in", cell: (row) => row.hint && <code>…{row.hint}</code> },
            { heading: "Last used", cell: (row) => <At ms={row.lastUsedAtMs} isAge /> },
            { heading: "Made", cell: (row) => <At ms={row.createdAtMs} />, isMinor: true },
            {
              heading: "Status",
              cell: (row) => <Status value={row.revokedAtMs === "0" ? "active" : "revoked"} />,
            },
            ...(mayRevoke
              ? [
                  {
                    heading: "Change",
                    cell: (row: ApiKey) =>
                      row.revokedAtMs === "0" && (
                        <ConfirmButton
                          label="Revoke"
                          title="Revoke this key?"
                          act={() => rpc("TenantService/RevokeApiKey", { tenantId, keyId: row.id })}
                          onDone={list.reload}
                        >
                          Requests with it are refused within five seconds, for ever.
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
