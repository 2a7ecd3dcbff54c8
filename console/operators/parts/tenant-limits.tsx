import { useState } from "preact/hooks";
import { useAction } from "../../core/use-action.ts";
import { Facts, ProblemBox } from "../../parts/common-parts.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { faultOf, TextField } from "../../parts/form.tsx";
import { rpc } from "../api/rpc.ts";
import type { Tenant } from "../api/types.ts";
import { useMay } from "../core/session-context.ts";

const LIMITS = [
  ["rateLimit", "rate_limit", "Requests per second"],
  ["burst", "burst", "Requests at once"],
  ["bulkMax", "bulk_max", "Recipients of a bulk request"],
] as const;

/** How much a tenant may send. */
export function TenantLimits({
  tenant,
  onDone,
}: {
  readonly tenant: Tenant;
  readonly onDone: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const mayChange = useMay("TenantService/UpdateTenant");
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <Facts rows={LIMITS.map(([name, , label]) => [label, tenant[name].toLocaleString()])} />
      {mayChange && (
        <p>
          <button type="button" onClick={() => setOpen(true)}>
            Change the limits
          </button>
        </p>
      )}
      {isOpen && (
        <Change
          tenant={tenant}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            onDone();
          }}
        />
      )}
    </section>
  );
}

function Change({
  tenant,
  onClose,
  onDone,
}: {
  readonly tenant: Tenant;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [form, setForm] = useState<Record<string, string>>({
    ...Object.fromEntries(LIMITS.map(([name]) => [name, String(tenant[name])])),
    plan: tenant.plan,
  });
  const set = (name: string) => (value: string) => setForm({ ...form, [name]: value });
  const change = useAction(async () => {
    const limits = LIMITS.map(([name]) => [name, Number(form[name])] as const);
    // Send only changed fields, so that two operators do not undo each other's changes.
    const changed = limits.filter(([name, value]) => value !== tenant[name]);
    const plan = form.plan === tenant.plan ? {} : { plan: form.plan };
    const fields = { ...Object.fromEntries(changed), ...plan };
    await rpc("TenantService/UpdateTenant", { tenantId: tenant.id, ...fields });
  }, onDone);
  return (
    <Dialog title={`Limits of ${tenant.name}`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void change.run();
        }}
      >
        {LIMITS.map(([name, field, label]) => (
          <TextField
            key={name}
            label={label}
            inputMode="numeric"
            required
            value={form[name] ?? ""}
            onInput={set(name)}
            fault={faultOf(change.problem, field)}
          />
        ))}
        <TextField
          label="Plan"
          required
          value={form.plan ?? ""}
          onInput={set("plan")}
          fault={faultOf(change.problem, "plan")}
          hint="Routes may be reserved for plans."
        />
        <ProblemBox problem={change.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={change.isBusy}>
            {change.isBusy ? "Changing…" : "Change"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
