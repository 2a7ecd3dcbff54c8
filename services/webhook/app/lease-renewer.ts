import type { Clock } from "../../shared/core/clock.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import type { Claimed } from "../domain/delivery.ts";
import type { DeliveryQueue } from "./ports.ts";

/** Lengthens the leases of attempts that could not begin in time. */
export type LeaseRenewer = {
  /** Answers the lease's new end; undefined when somebody else has the delivery by now. */
  renew(claimed: Claimed): Promise<number | undefined>;
  close(): Promise<void>;
};

/**
 * Renews leases together. After an outage everything that was claimed asks at once: a write for each
 * would take longer than the leases last, so that they would be renewed again and again and nothing
 * else would ever happen.
 */
export function createLeaseRenewer(options: {
  readonly queue: Pick<DeliveryQueue, "renew">;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly queueMax: number;
}): LeaseRenewer {
  const { queue, clock, leaseMs } = options;
  const batcher = createBatcher<Claimed, number | undefined>({
    name: "webhook lease renewals",
    batchMax: 512,
    queueMax: options.queueMax,
    isTransient: isMongoOutage,
    async flush(items) {
      const untilMs = clock.now() + leaseMs;
      const held = await queue.renew(items, untilMs);
      return items.map(({ id }) => (held.has(id) ? untilMs : undefined));
    },
  });
  return { renew: (claimed) => batcher.add(claimed), close: () => batcher.close() };
}
