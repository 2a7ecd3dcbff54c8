import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { startLoop } from "../../shared/flow/periodic.ts";
import {
  type DeliveryHealth,
  type DeliveryWindow,
  deliveryHealth,
  WINDOWS,
} from "../domain/delivery-health.ts";
import type { DeliveryCounter } from "./delivery-counter.ts";
import type { DeliveryStore, RoutingClient } from "./ports.ts";

const FLUSH_MS = 10_000;
const REPORT_MS = 60_000;

/**
 * Stores the delivery counts of this process, and once a minute compares those of all replicas with their baselines
 * and reports the result. Every replica reports the same figures, so the replicas need no leader.
 */
export function startDeliveryReports(options: {
  readonly counter: DeliveryCounter;
  readonly store: DeliveryStore;
  readonly routing: Pick<RoutingClient, "reportDeliveries">;
  readonly onHealth: (health: readonly DeliveryHealth[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
}): { close(): Promise<void> } {
  const { counter, store, routing, clock, log } = options;

  function sumsOf(window: DeliveryWindow) {
    const { fromMs, untilMs } = WINDOWS[window];
    const nowMs = clock.now();
    return store.sumDeliveries(nowMs - fromMs, nowMs - untilMs);
  }

  async function report(): Promise<void> {
    const [last, recent, baseline] = await Promise.all([
      sumsOf("last"),
      sumsOf("recent"),
      sumsOf("baseline"),
    ]);
    const health = deliveryHealth({ last, recent, baseline });
    options.onHealth(health);
    const reportedAtMs = clock.now();
    await routing.reportDeliveries(health.map((one) => ({ ...one, reportedAtMs })));
  }

  const loops = [
    startLoop({
      ...{ name: "delivery counts", intervalMs: FLUSH_MS, log },
      work: async () => {
        await counter.flush();
        return false;
      },
    }),
    startLoop({
      ...{ name: "delivery health", intervalMs: REPORT_MS, log },
      work: async () => {
        await report();
        return false;
      },
    }),
  ];
  return {
    async close() {
      await Promise.all(loops.map((loop) => loop.close()));
      await counter.flush();
    },
  };
}
