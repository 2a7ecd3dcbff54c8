import { pagesOfTenants } from "../calls/tenants.ts";
import type { CheckRun } from "./report.ts";

/** The ids of the tenants that a check is about: the given one, or all. */
export async function* checkedTenants({
  clients,
  tenantId,
  signal,
}: CheckRun): AsyncGenerator<string> {
  if (tenantId !== "") return yield tenantId;
  for await (const page of pagesOfTenants(clients, { signal })) yield* page.map(({ id }) => id);
}
