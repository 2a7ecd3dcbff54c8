import { AppError } from "../shared/core/errors.ts";
import type { CommandContext } from "./command.ts";

/** The tenant named by `--tenant`, which may be an id or a name. */
export async function tenantId({ clients, options }: CommandContext): Promise<string> {
  return resolveTenant(clients, options.required("tenant"));
}

/** A tenant's id from its id or name. */
export async function resolveTenant(
  clients: CommandContext["clients"],
  idOrName: string,
): Promise<string> {
  const { tenant } = await clients.tenants.getTenant({ idOrName });
  if (tenant === undefined) throw new AppError("not_found", `There is no tenant ${idOrName}.`);
  return tenant.id;
}
