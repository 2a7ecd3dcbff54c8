import { systemClock } from "../../services/shared/core/clock.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { createCommandQueue } from "../../services/wallet/app/command-queue.ts";
import type { WalletStore } from "../../services/wallet/app/ports.ts";
import { createWallets } from "../../services/wallet/app/wallets.ts";

/**
 * A fault of a transaction:
 * - before: it fails before it starts.
 * - undone: it writes everything and fails before the commit.
 * - answer-lost: it commits and the answer is lost.
 * - conflict: its first run is rolled back, and it runs again.
 */
export type Fault = "before" | "undone" | "answer-lost" | "conflict" | undefined;

export const FAULTS: readonly Fault[] = ["before", "undone", "answer-lost", "conflict"];

/** The use cases of a new wallet on a store whose transactions meet the given faults, in order. */
export async function openFaultyWallet(sound: WalletStore, faults: readonly Fault[]) {
  let lostAnswers = 0;
  let next = 0;
  const store = withFaults(sound, () => {
    const fault = faults[next];
    next += 1;
    if (fault === "answer-lost") lostAnswers += 1;
    return fault;
  });
  const queue = createCommandQueue({
    store,
    clock: systemClock,
    batchMax: 100,
    queueMax: 1000,
    totalMax: 1000,
    transactionsMax: 4,
    walletsMax: 8,
  });
  const wallets = createWallets({ store, queue, clock: systemClock });
  const tenantId = newId("tenant");
  await wallets.create(tenantId, "NGN", 0n, { name: "test", address: "" });
  const takeLostAnswers = () => {
    const count = lostAnswers;
    lostAnswers = 0;
    return count;
  };
  return { tenantId, wallets, queue, takeLostAnswers };
}

/** The same store with faults: each transaction meets the one that `next` returns. */
function withFaults(store: WalletStore, next: () => Fault): WalletStore {
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
