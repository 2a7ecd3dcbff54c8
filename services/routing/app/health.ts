import type { Clock } from "../../shared/core/clock.ts";
import { createContinuity } from "../../shared/core/continuity.ts";
import type { DeliveryHealth } from "../domain/delivery-health.ts";
import { type BindHealth, evaluateConnector, initialHealth, pauseMaxMs } from "../domain/health.ts";
import type { HealthChange, HealthStore, RouteTableNotifier } from "./ports.ts";

/** The ports and settings of connector health. */
export type HealthPorts = {
  readonly store: HealthStore;
  readonly clock: Clock;
  /** A clock that is never set, for durations. */
  readonly monotonicClock: Clock;
  /** Interval of the calls of `evaluateAll`. */
  readonly intervalMs: number;
  readonly listConnectorIds: () => Promise<string[]>;
  readonly notifier: RouteTableNotifier;
};

/** The use cases on connector health. */
export type HealthService = ReturnType<typeof createHealthService>;

export function createHealthService(ports: HealthPorts) {
  const { store, clock, monotonicClock, listConnectorIds, notifier } = ports;
  const continuity = createContinuity(clock, monotonicClock, pauseMaxMs(ports.intervalMs));
  let lastFailing: readonly string[] = [];

  return {
    report(reports: readonly BindHealth[]): Promise<void> {
      const nowMs = clock.now();
      // Reports get this service's time: it decides on freshness, and a carrier's clock may be
      // wrong.
      return store.saveReports(reports.map((report) => ({ ...report, reportedAtMs: nowMs })));
    },

    listReports: () => store.listReports(),

    reportDeliveries(deliveries: readonly DeliveryHealth[]): Promise<void> {
      const reportedAtMs = clock.now();
      return store.saveDeliveries(deliveries.map((one) => ({ ...one, reportedAtMs })));
    },

    listDeliveries: () => store.listDeliveries(),

    /** Evaluates every connector by the latest reports of its binds. */
    async evaluateAll(): Promise<void> {
      const nowMs = clock.now();
      const [ids, stored, reports] = await Promise.all([
        listConnectorIds(),
        store.listHealth(),
        store.listReports(),
      ]);
      // After the reads: while the database is down, no report can be saved either.
      const watchedMs = continuity.forMs();
      continuity.note();
      const known = new Map(stored.map((health) => [health.connectorId, health]));
      const byConnector = Map.groupBy(reports, ({ connectorId }) => connectorId);
      const changes = ids.map((id): HealthChange => {
        const before = known.get(id) ?? initialHealth(id, nowMs);
        const own = byConnector.get(id) ?? [];
        return { before, after: evaluateConnector(before, own, nowMs, watchedMs) };
      });
      await store.saveHealth(changes);
      const removed = stored
        .map(({ connectorId }) => connectorId)
        .filter((id) => !ids.includes(id));
      if (removed.length > 0) await store.removeHealth(removed);
      // A replica that saved the same change first has published it too.
      if (changes.some(changesOrder)) notifier.notifyChanged();
    },

    /**
     * Connectors whose routes are tried last. During an outage of the store, the last known ones.
     */
    async listFailing(): Promise<readonly string[]> {
      try {
        const all = await store.listHealth();
        lastFailing = all
          .filter(({ state }) => state === "failing")
          .map(({ connectorId }) => connectorId);
      } catch {
        // A route table with old health is better than none.
      }
      return lastFailing;
    },
  };
}

/** Whether the connector's routes move behind all others, or back. */
function changesOrder({ before, after }: HealthChange): boolean {
  return (before.state === "failing") !== (after.state === "failing");
}
