import { type CheckReport, type CheckRun, createBreachList } from "./report.ts";

/** Recomputes wallets from their entries (invariants 1 and 2 within the ledger). */
export async function checkWallets(run: CheckRun): Promise<CheckReport> {
  const { clients, tenantId, note, signal } = run;
  const found = createBreachList();
  let compared = { wallets: 0, entries: 0, reservations: 0 };
  note("recomputing wallets from their entries");
  const parts = clients.wallets.checkWallets({ tenantId }, { timeoutMs: 0, signal });
  for await (const part of parts) {
    found.add(...part.breaches.map(({ invariant, what, ids }) => ({ invariant, what, ids })));
    compared = {
      wallets: Number(part.wallets),
      entries: Number(part.entries),
      reservations: Number(part.reservations),
    };
  }
  return { ...found.listed(), compared };
}
