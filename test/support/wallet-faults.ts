import { AppError } from "../../services/shared/core/errors.ts";
import type { WalletStore } from "../../services/wallet/app/ports.ts";

/**
 * Where a transaction dies, or what befalls it:
 * - before: nothing has begun.
 * - undone: everything was written, then the transaction was lost before its commit.
 * - unheard: it was committed, and the answer was lost.
 * - conflict: its first run is undone, and it runs again.
 */
export type Fault = "before" | "undone" | "unheard" | "conflict" | undefined;

export const FAULTS: readonly Fault[] = ["before", "undone", "unheard", "conflict"];

/** The same store, whose transactions meet the faults that `next` deals out. */
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
      if (fault === "unheard") throw lost();
      return result;
    },
  };
}
