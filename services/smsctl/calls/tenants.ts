import type { CallOptions } from "@connectrpc/connect";
import type { Tenant } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import type { CommandContext } from "../cli/command.ts";

type Clients = CommandContext["clients"];

const PAGE_MAX = 1000;

/** The id of the tenant in `--tenant`, given by id or name. */
export async function tenantId({ clients, options }: CommandContext): Promise<string> {
  return resolveTenant(clients, options.required("tenant"));
}

/** Like `tenantId`, but returns an empty text without `--tenant`. */
export async function tenantIfGiven({ clients, options }: CommandContext): Promise<string> {
  const given = options.optional("tenant");
  return given === undefined ? "" : resolveTenant(clients, given);
}

/** A tenant's id from its id or name. */
export async function resolveTenant(clients: Clients, idOrName: string): Promise<string> {
  return (await findTenant(clients, idOrName)).id;
}

/** A tenant by its id or name. */
export async function findTenant(
  clients: Clients,
  idOrName: string,
  calls: CallOptions = {},
): Promise<Tenant> {
  const { tenant } = await clients.tenants.getTenant({ idOrName }, calls);
  if (tenant === undefined) throw new AppError("not_found", `There is no tenant ${idOrName}.`);
  return tenant;
}

/** Pages of all tenants, ordered by id. */
export async function* pagesOfTenants(
  clients: Clients,
  calls: CallOptions = {},
): AsyncGenerator<Tenant[]> {
  let cursor = "";
  do {
    const page = await clients.tenants.listTenants({ limit: PAGE_MAX, cursor }, calls);
    yield page.tenants;
    cursor = page.nextCursor;
  } while (cursor !== "");
}
