import type { Tenant } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { findTenant, pagesOfTenants } from "../calls/tenants.ts";
import { checkInParallel, undefinedIfNotFound } from "./recheck.ts";
import { type CheckReport, type CheckRun, createBreachList, type FoundBreach } from "./report.ts";

/**
 * Compares each wallet's currency with its tenant's, in which messages are priced (invariant 2). The
 * caller of CreateWallet chooses the currency; no service compares it with the tenant.
 */
export async function checkCurrencies(run: CheckRun): Promise<CheckReport> {
  const { clients, tenantId, note, signal } = run;
  note("comparing wallets' currencies with their tenants'");
  const found = createBreachList();
  let tenants = 0;
  const pages =
    tenantId === ""
      ? pagesOfTenants(clients, { signal })
      : [[await findTenant(clients, tenantId, { signal })]];
  for await (const page of pages) {
    tenants += page.length;
    found.add(...(await checkInParallel(page, signal, (tenant) => compare(run, tenant))));
  }
  return { ...found.listed(), compared: { tenants } };
}

/** A tenant may have no wallet yet. */
async function compare({ clients, signal }: CheckRun, tenant: Tenant): Promise<FoundBreach[]> {
  const { id, currency } = tenant;
  const answer = await clients.wallets
    .getWallet({ tenantId: id }, { signal })
    .catch(undefinedIfNotFound);
  const other = answer?.wallet?.currency ?? currency;
  if (other === currency) return [];
  const what = `the wallet is in ${other}, its tenant in ${currency}`;
  return [{ invariant: 2, what, ids: [id] }];
}
