/**
 * Writes what attempts led to, many at a time. An outage of the database is waited out here:
 * forgetting a success would mean sending it again. While it lasts, nothing new is taken on.
 */

import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import type { DeliveryQueue, Settlement, WebhookEvents } from "./ports.ts";
import { createPatience } from "./retry-until-available.ts";

/** A running settler. */
export type Settler = {
  /** Answers when the result is durable. */
  settle(settlement: Settlement): Promise<void>;
  /**
   * True from the beginning of an outage until the last result that it held up is written: the
   * leases behind those results may have ended, and must not be claimed anew before.
   */
  isStuck(): boolean;
  close(): Promise<void>;
};

/** Starts a settler. */
export function createSettler(options: {
  readonly queue: Pick<DeliveryQueue, "settle">;
  readonly events: WebhookEvents;
  readonly log: Logger;
  readonly queueMax: number;
}): Settler {
  const { queue, events, log } = options;
  const patience = createPatience("webhook results", log);
  let isCatchingUp = false;
  const batcher = createBatcher<Settlement, void>({
    name: "webhook results",
    async flush(settlements) {
      const lost = await patience.run(() => queue.settle(settlements));
      if (lost > 0) events.onLeaseLost(lost);
      return settlements.map(() => undefined);
    },
    batchMax: 256,
    queueMax: options.queueMax,
    concurrency: 2,
    isTransient: isMongoOutage,
  });
  return {
    settle: (settlement) => batcher.add(settlement),
    isStuck() {
      if (patience.isStuck()) isCatchingUp = true;
      else if (batcher.waiting === 0) isCatchingUp = false;
      return isCatchingUp;
    },
    close() {
      patience.stop();
      return batcher.close();
    },
  };
}
