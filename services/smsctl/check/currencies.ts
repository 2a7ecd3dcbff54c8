import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { type CheckReport, type CheckRun, createBreachList } from "./report.ts";

/** Wallets asked for at once. */
const CALLS_MAX = 32;

type Named = { readonly id: string; readonly currency: string };

/**
 * Compares each wallet's currency with its tenant's, in which its messages are priced (invariant 2). Whoever
 * creates a wallet names its currency, and no service looks the tenant up.
 */
export async function checkCurrencies(run: CheckRun): Promise<CheckReport> {
  run.note("comparing wallets' currencies with their tenants'");
  const found = createBreachList();
  let tenants = 0;
  for await (const page of pagesOfTenants(run)) {
    tenants += page.length;
    for (let at = 0; at < page.length; at += CALLS_MAX) {
      const asked = page.slice(at, at + CALLS_MAX);
      const held = await Promise.all(asked.map(({ id }) => currencyOfWallet(run, id)));
      asked.forEach(({ id, currency }, index) => {
        const other = held[index];
        if (other === undefined || other === currency) return;
        const what = `the wallet is in ${other}, its tenant in ${currency}`;
        found.add({ invariant: 2, what, ids: [id] });
      });
    }
  }
  return { ...found.listed(), looked: { tenants } };
}

async function* pagesOfTenants({ clients, tenantId, signal }: CheckRun): AsyncGenerator<Named[]> {
  if (tenantId !== "") {
    const { tenant } = await clients.tenants.getTenant({ idOrName: tenantId }, { signal });
    if (tenant === undefined) throw new AppError("not_found", `There is no tenant ${tenantId}.`);
    yield [tenant];
    return;
  }
  let cursor = "";
  do {
    const page = await clients.tenants.listTenants({ limit: 1000, cursor }, { signal });
    yield page.tenants;
    cursor = page.nextCursor;
  } while (cursor !== "");
}

/** Undefined where the tenant has no wallet yet. */
async function currencyOfWallet(run: CheckRun, tenantId: string): Promise<string | undefined> {
  const { clients, signal } = run;
  try {
    const { wallet } = await clients.wallets.getWallet({ tenantId }, { signal });
    return wallet?.currency;
  } catch (thrown) {
    if (toAppError(thrown).code === "not_found") return undefined;
    throw thrown;
  }
}
