import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { Claimed } from "../domain/delivery.ts";
import type { DeliveryQueue } from "./ports.ts";

/** Renews the leases of attempts that could not begin in time. */
export type LeaseRenewer = {
  /** Returns the new end of the lease, or undefined when another process has the delivery. */
  renew(claimed: Claimed): Promise<number | undefined>;
  close(): Promise<void>;
};

/**
 * Renews leases in batches. After an outage every claimed delivery needs a renewal at once. One write
 * each would take longer than a lease lasts, so leases would end again before their attempts begin.
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
    isTransient: isUnavailable,
    async flush(items) {
      const untilMs = clock.now() + leaseMs;
      const held = await queue.renew(items, untilMs);
      return items.map(({ id }) => (held.has(id) ? untilMs : undefined));
    },
  });
  return { renew: (claimed) => batcher.add(claimed), close: () => batcher.close() };
}
