/**
 * Writes the results of attempts in batches, and retries through an outage of the database: a lost
 * success would be sent again. The dispatcher starts nothing new while results wait.
 */
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { AttemptResult, DeliveryMetrics, DeliveryQueue } from "./ports.ts";
import { createRetryUntilAvailable } from "./retry-until-available.ts";

export type ResultWriter = {
  /** Resolves when the result is durable. */
  write(result: AttemptResult): Promise<void>;
  /**
   * True from the start of an outage until every result that waited is written. The leases of those
   * results may have ended, and claiming them again would repeat their attempts.
   */
  isBlocked(): boolean;
  close(): Promise<void>;
};

export function createResultWriter(options: {
  readonly queue: Pick<DeliveryQueue, "writeResults">;
  readonly metrics: DeliveryMetrics;
  readonly log: Logger;
  readonly queueMax: number;
}): ResultWriter {
  const { queue, metrics, log } = options;
  const retry = createRetryUntilAvailable("webhook results", log);
  let isCatchingUp = false;
  const batcher = createBatcher<AttemptResult, void>({
    name: "webhook results",
    async flush(results) {
      const lost = await retry.run(() => queue.writeResults(results));
      if (lost > 0) metrics.onLeaseLost(lost);
      return results.map(() => undefined);
    },
    batchMax: 256,
    queueMax: options.queueMax,
    concurrency: 2,
    isTransient: isUnavailable,
  });
  return {
    write: (result) => batcher.add(result),
    isBlocked() {
      if (retry.isBlocked()) isCatchingUp = true;
      else if (batcher.waiting === 0) isCatchingUp = false;
      return isCatchingUp;
    },
    close() {
      retry.stop();
      return batcher.close();
    },
  };
}
