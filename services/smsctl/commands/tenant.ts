import { TenantSchema } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { localActor } from "../calls/actor.ts";
import type { Clients } from "../calls/clients.ts";
import { pagesOfTenants } from "../calls/tenants.ts";
import type { CommandContext, Commands } from "../cli/command.ts";
import { defined } from "../cli/options.ts";
import { toJson } from "../cli/to-json.ts";

/** `smsctl tenant …` */
export const TENANT_COMMANDS: Commands = {
  create: {
    usage:
      "tenant create --name N [--rate-limit R --burst B --currency C --low-balance A " +
      "--plan P --bulk-max M --email-verified true|false --actor NAME]",
    run: createTenant,
  },
  show: {
    usage: "tenant show T | --tenant T",
    async run({ clients, options, output }) {
      const { tenant } = await clients.tenants.getTenant({
        idOrName: options.optionOrWord("tenant", "The tenant"),
      });
      if (tenant !== undefined) output.result(toJson(TenantSchema, tenant));
      return 0;
    },
  },
  list: {
    usage: "tenant list",
    async run({ clients, output }) {
      const tenants = (await Array.fromAsync(pagesOfTenants(clients))).flat();
      output.result(tenants.map((tenant) => toJson(TenantSchema, tenant)));
      return 0;
    },
  },
  update: {
    usage:
      "tenant update T | --tenant T [--suspended true|false --email-verified true|false " +
      "--rate-limit R --burst B --bulk-max M --plan P --redact-bodies true|false]",
    async run({ clients, options, output }) {
      const changes = defined({
        suspended: options.boolean("suspended"),
        emailVerified: options.boolean("email-verified"),
        rateLimit: options.whole("rate-limit"),
        burst: options.whole("burst"),
        bulkMax: options.whole("bulk-max"),
        plan: options.optional("plan"),
        redactBodies: options.boolean("redact-bodies"),
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
      if (tenant !== undefined) output.result(toJson(TenantSchema, tenant));
      return 0;
    },
  },
};

/** Creates a tenant, then its wallet in another service. A repeat creates a missing wallet. */
async function createTenant({ clients, options, output }: CommandContext): Promise<number> {
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
  output.result({ ...toJson(TenantSchema, tenant), ...(existed ? { existed } : {}) });
  if (existed) {
    output.note("The tenant existed, without a wallet: it has one now, the rest is as it was.");
  }
  return 0;
}

async function hasWallet(clients: Clients, tenantId: string): Promise<boolean> {
  try {
    await clients.wallets.getWallet({ tenantId });
    return true;
  } catch (thrown) {
    if (toAppError(thrown).code === "not_found") return false;
    throw thrown;
  }
}
