import type { Logger } from "../../shared/core/logger.ts";
import { startLoop } from "../../shared/flow/periodic.ts";
import type { WalletMetrics } from "./ports.ts";
import type { CheckWallets } from "./reconcile.ts";

/** The maximum number of breaches that one check logs. */
const LOGGED_MAX = 100;

/** Checks the ledger periodically and reports the breaches; first after one interval. */
export function startSelfCheck(options: {
  readonly checkWallets: CheckWallets;
  /** 0 disables the check. */
  readonly intervalMs: number;
  readonly metrics: Pick<WalletMetrics, "onCheck">;
  readonly log: Logger;
}): { close(): Promise<void> } {
  const { checkWallets, intervalMs, metrics, log } = options;
  if (intervalMs === 0) return { close: () => Promise.resolve() };
  let isFirst = true;
  return startLoop({
    name: "wallet self-check",
    intervalMs,
    log,
    async work(signal) {
      if (isFirst) {
        isFirst = false;
        return false;
      }
      const startedMs = performance.now();
      let count = 0;
      for await (const progress of checkWallets("", signal)) {
        for (const { invariant, what, ids } of progress.breaches) {
          count += 1;
          if (count <= LOGGED_MAX) log.error({ invariant, ids, breach: what }, "invariant broken");
        }
      }
      metrics.onCheck(count, performance.now() - startedMs);
      return false;
    },
  });
}
