import { AppError } from "../../services/shared/core/errors.ts";
import type { WalletStore } from "../../services/wallet/app/ports.ts";

/**
 * A fault of a transaction:
 * - before: it fails before it starts.
 * - undone: it writes everything and fails before the commit.
 * - answer-lost: it commits and the answer is lost.
 * - conflict: its first run is rolled back, and it runs again.
 */
export type Fault = "before" | "undone" | "answer-lost" | "conflict" | undefined;

export const FAULTS: readonly Fault[] = ["before", "undone", "answer-lost", "conflict"];

/** The same store with faults: each transaction meets the one that `next` returns. */
export function withFaults(store: WalletStore, next: () => Fault): WalletStore {
  const lost = () => new AppError("service_unavailable", "The answer was lost.");
  return {
    ...store,
    async transact(tenantIds, work) {
      const fault = next();
      if (fault === "before") throw lost();
      if (fault === "undone" || fault === "conflict") {
        const undone = Symbol("undone");
        try {
          await store.transact(tenantIds, async (tx) => {
            await work(tx);
            throw undone;
          });
        } catch (error) {
          if (error !== undone) throw error;
        }
        if (fault === "undone") throw lost();
      }
      const result = await store.transact(tenantIds, work);
      if (fault === "answer-lost") throw lost();
      return result;
    },
  };
}
