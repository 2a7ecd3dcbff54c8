import { TenantSchema } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { defined } from "../../shared/cli/options.ts";
import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { localActor } from "../calls/actor.ts";
import type { Clients } from "../calls/clients.ts";
import { pagesOfTenants } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const show: Run = async ({ clients, options, output }) => {
  const { tenant } = await clients.tenants.getTenant({
    idOrName: options.optionOrWord("tenant", "The tenant"),
  });
  if (tenant !== undefined) await output.result(toJson(TenantSchema, tenant));
  return 0;
};

export const list: Run = async ({ clients, options, output }) => {
  const isWanted = createdWithin(options);
  const tenants = (await Array.fromAsync(pagesOfTenants(clients))).flat().filter(isWanted);
  await output.list(
    tenants.map((tenant) => toJson(TenantSchema, tenant)),
    {
      columns: ["id", "name…", "suspended", "plan", "created_at", "currency", "rate_limit"],
      wide: ["burst", "bulk_max", "email_verified", "redact_bodies", "updated_at"],
    },
  );
  return 0;
};

export const update: Run = async ({ clients, options, output }) => {
  const changes = defined({
    suspended: options.boolean("suspended"),
    emailVerified: options.boolean("email-verified"),
    rateLimit: options.whole("rate-limit"),
    burst: options.whole("burst"),
    bulkMax: options.whole("bulk-max"),
    plan: options.optional("plan"),
    redactBodies: options.boolean("redact-bodies"),
    rejectsInQuietHours: readPolicy(options.optional("quiet-hours")),
  });
  const idOrName = options.optionOrWord("tenant", "The tenant");
  if (Object.keys(changes).length === 0) {
    throw new AppError("validation_error", "Nothing is to be changed: name what, and to what.");
  }
  const found = await clients.tenants.getTenant({ idOrName });
  const { tenant } = await clients.tenants.updateTenant({
    tenantId: found.tenant?.id ?? "",
    ...changes,
  });
  if (tenant !== undefined) await output.result(toJson(TenantSchema, tenant));
  return 0;
};

/** Whether to reject messages that quiet hours would delay. */
function readPolicy(policy: string | undefined): boolean | undefined {
  if (policy === undefined) return undefined;
  if (policy === "reject") return true;
  if (policy === "hold") return false;
  throw new AppError("validation_error", "--quiet-hours must be hold or reject.");
}

/** Creates a tenant, then its wallet in another service. A repeat creates a missing wallet. */
export const create: Run = async ({ clients, options, output }) => {
  const lowBalanceThreshold = options.amount("low-balance") ?? 0n;
  if (lowBalanceThreshold < 0n) {
    throw new AppError("validation_error", "--low-balance must not be negative.");
  }
  const name = options.required("name");
  const wanted = {
    name,
    ...defined({
      rateLimit: options.count("rate-limit"),
      burst: options.count("burst"),
      bulkMax: options.count("bulk-max"),
      currency: options.named("currency"),
      plan: options.named("plan"),
      emailVerified: options.boolean("email-verified"),
    }),
  };
  const made = await clients.tenants.createTenant(wanted).catch(async (thrown: unknown) => {
    if (toAppError(thrown).code !== "already_exists") throw thrown;
    const { tenant } = await clients.tenants.getTenant({ idOrName: name });
    if (tenant === undefined || (await hasWallet(clients, tenant.id))) throw thrown;
    return { tenant, existed: true };
  });
  const tenant = made.tenant;
  const existed = "existed" in made;
  if (tenant === undefined) throw new AppError("internal_error", "The answer is empty.");
  await clients.wallets.createWallet({
    tenantId: tenant.id,
    currency: tenant.currency,
    lowBalanceThreshold,
    actor: localActor(options),
  });
  await output.result({ ...toJson(TenantSchema, tenant), ...(existed ? { existed } : {}) });
  if (existed) {
    output.note("The tenant existed, without a wallet: it has one now, the rest is as it was.");
  }
  return 0;
};

async function hasWallet(clients: Clients, tenantId: string): Promise<boolean> {
  try {
    await clients.wallets.getWallet({ tenantId });
    return true;
  } catch (thrown) {
    if (toAppError(thrown).code === "not_found") return false;
    throw thrown;
  }
}
