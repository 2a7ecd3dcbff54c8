import type { Clients } from "../clients.ts";
import { BREACHES_MAX, type CheckReport, type FoundBreach } from "./report.ts";

/** Recomputes wallets from their entries (invariants 1 and 2 within the ledger). */
export async function checkWallets(
  clients: Clients,
  tenantId: string,
  note: (line: string) => void,
): Promise<CheckReport> {
  const breaches: FoundBreach[] = [];
  let looked = { wallets: 0, entries: 0, reservations: 0 };
  note("recomputing wallets from their entries");
  for await (const part of clients.wallets.checkWallets({ tenantId }, { timeoutMs: 0 })) {
    for (const { invariant, what, ids } of part.breaches) {
      if (breaches.length < BREACHES_MAX) breaches.push({ invariant, what, ids });
    }
    looked = {
      wallets: Number(part.wallets),
      entries: Number(part.entries),
      reservations: Number(part.reservations),
    };
  }
  return { breaches, looked };
}
