import { useRoute } from "preact-iso";
import { useResource } from "../../core/use-resource.ts";
import { Copy, Facts, PageTitle, Status } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { rpc } from "../api/rpc.ts";
import type { Tenant } from "../api/types.ts";
import { useMay } from "../core/session-context.ts";
import { At, Waiting } from "../parts/common-parts.tsx";
import { TenantKeys } from "../parts/tenant-keys.tsx";
import { TenantLimits } from "../parts/tenant-limits.tsx";
import { TenantPeople } from "../parts/tenant-people.tsx";
import { TenantWallet } from "../parts/tenant-wallet.tsx";

/** One tenant: whether it may send, with which limits and money, and by whom and which keys. */
export function TenantPage() {
  const id = useRoute().params.id ?? "";
  const found = useResource(
    `tenant ${id}`,
    (signal) => rpc<{ tenant: Tenant }>("TenantService/GetTenant", { idOrName: id }, signal),
    10_000,
  );
  const tenant = found.data?.tenant;
  if (tenant === undefined) {
    return (
      <>
        <PageTitle>Tenant</PageTitle>
        <Waiting of={found} />
      </>
    );
  }
  return (
    <>
      <PageTitle
        note={<Copy text={tenant.id} label="the id" />}
        actions={<Suspension tenant={tenant} onDone={found.reload} />}
      >
        {tenant.name}
      </PageTitle>
      {tenant.suspended && (
        <p class="banner bad">Suspended: it may read and cancel, and not send.</p>
      )}
      <div class="columns">
        <section aria-labelledby="facts">
          <h2 id="facts">Details</h2>
          <Facts
            rows={[
              ["Status", <Status key="s" value={tenant.suspended ? "suspended" : "active"} />],
              ["E-mail verified", tenant.emailVerified ? "yes" : "no, so it cannot send"],
              ["Plan", tenant.plan],
              ["Texts", tenant.redactBodies ? "redacted after the final status" : "kept"],
              ["Since", <At key="t" ms={tenant.createdAtMs} />],
            ]}
          />
        </section>
        <TenantLimits tenant={tenant} onDone={found.reload} />
      </div>
      <TenantWallet tenant={tenant} />
      <TenantKeys tenantId={tenant.id} />
      <TenantPeople tenantId={tenant.id} />
    </>
  );
}

function Suspension({ tenant, onDone }: { readonly tenant: Tenant; readonly onDone: () => void }) {
  const { id, name, suspended } = tenant;
  if (!useMay("TenantService/UpdateTenant")) return null;
  return (
    <ConfirmButton
      key={String(suspended)}
      label={suspended ? "Resume" : "Suspend"}
      title={suspended ? `Resume ${name}?` : `Suspend ${name}?`}
      isDangerous={!suspended}
      act={() => rpc("TenantService/UpdateTenant", { tenantId: id, suspended: !suspended })}
      onDone={onDone}
    >
      {suspended
        ? "It may send again within five seconds."
        : "New sends are refused within five seconds. Queued messages are still sent."}
    </ConfirmButton>
  );
}
