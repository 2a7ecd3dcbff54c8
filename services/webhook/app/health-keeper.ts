/** Keeps the health records of endpoints, and disables endpoints that fail for too long. */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { RequestResult } from "../domain/delivery.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import { addPendingChange, decideHealthChange, type HealthChange } from "../domain/health.ts";
import type {
  DeliveryMetrics,
  DeliveryQueue,
  EndpointStopper,
  OperatorAlert,
  OperatorAlerts,
} from "./ports.ts";

/**
 * Stored health records. Each method takes the endpoint as the attempt read it, changes the record
 * only if URL, enabled period and failures are still the same, and returns whether it did.
 */
export type HealthStore = {
  /** Clears the failures of this URL. */
  clearFailing(endpoint: Endpoint): Promise<boolean>;
  markFailing(endpoint: Endpoint, sinceMs: number): Promise<boolean>;
  markWarned(endpoint: Endpoint, atMs: number): Promise<boolean>;
  disable(endpoint: Endpoint, reason: string, atMs: number): Promise<boolean>;
};

/** Dependencies of the health keeper. */
export type HealthKeeperParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: HealthStore;
  readonly queue: Pick<DeliveryQueue, "dropWaiting">;
  readonly metrics: DeliveryMetrics;
  readonly alerts: OperatorAlerts;
  readonly stopper: EndpointStopper;
  readonly disableAfterMs: number;
};

/** Decides about health when an attempt ends, and writes it in the background. */
export type HealthKeeper = {
  report(endpoint: Endpoint, result: RequestResult): void;
  close(): Promise<void>;
};

/** A health change to write. */
type HealthUpdate = {
  readonly endpoint: Endpoint;
  readonly change: HealthChange;
  readonly nowMs: number;
};

/** The changes of one endpoint that wait, and the write in progress. */
type Chain = { waiting: readonly HealthUpdate[]; running: Promise<void> | undefined };

/** Endpoints cached as failing; the least recent are evicted first. */
const MARKED_MAX = 10_000;

/**
 * Changes of one endpoint are written in the order in which its attempts ended. Otherwise the mark of
 * a failure could overwrite a later success.
 *
 * An attempt that read the endpoint before a failure was marked sees nothing to clear when it
 * succeeds. So the keeper caches which endpoints failed in this process, and the first success after
 * a failure always writes. A failure that another replica marked, and that no attempt here has read,
 * stays marked until the next success.
 */
export function createHealthKeeper(parts: HealthKeeperParts): HealthKeeper {
  const chains = new Map<string, Chain>();
  const marked = new Map<string, true>();

  async function write(endpointId: string, chain: Chain): Promise<void> {
    for (let [next] = chain.waiting; next !== undefined; [next] = chain.waiting) {
      chain.waiting = chain.waiting.slice(1);
      try {
        await apply(parts, next);
      } catch (error) {
        parts.log.warn(
          { error, endpoint_id: endpointId },
          "the health record could not be written",
        );
        // Drop a failure that was not written: the next failed attempt makes the same change. Keep a success first
        // until the next attempt ends: it must be written before a later failure can disable the endpoint.
        if (next.change.kind !== "clear") continue;
        const isOvertaken = chain.waiting.some(({ change }) => change.kind === "clear");
        if (!isOvertaken) chain.waiting = [next, ...chain.waiting];
        chain.running = undefined;
        return;
      }
    }
    chains.delete(endpointId);
  }

  return {
    report(endpoint, result) {
      const { id } = endpoint;
      const isMarked = marked.has(id);
      const nowMs = parts.clock.now();
      const change = decideHealthChange(endpoint, result, nowMs, parts.disableAfterMs, isMarked);
      if (result.error !== "") setRecent(marked, id, true, MARKED_MAX);
      else if (isMarked) marked.delete(id);
      let chain = chains.get(id);
      if (chain === undefined) {
        if (change.kind === "none") return;
        chain = { waiting: [], running: undefined };
        chains.set(id, chain);
      }
      chain.waiting = addPendingChange(chain.waiting, { endpoint, change, nowMs });
      chain.running ??= write(id, chain);
    },
    async close() {
      await Promise.all([...chains.values()].map(({ running }) => running));
    },
  };
}

async function apply(
  parts: HealthKeeperParts,
  { endpoint, change, nowMs }: HealthUpdate,
): Promise<void> {
  const { store, metrics } = parts;
  switch (change.kind) {
    case "clear":
      await store.clearFailing(endpoint);
      return;
    case "failing":
      await store.markFailing(endpoint, nowMs);
      return;
    case "warn":
      if (await store.markWarned(endpoint, nowMs)) {
        const since = new Date(endpoint.failingSinceMs).toISOString();
        alert(parts, endpoint, "endpoint_failing", `Every delivery has failed since ${since}.`);
      }
      return;
    case "disable":
      if (await store.disable(endpoint, change.reason, nowMs)) {
        parts.stopper.stop(endpoint.id);
        metrics.onDisabled();
        alert(parts, endpoint, "endpoint_disabled", change.reason);
        await parts.queue.dropWaiting(endpoint.id, nowMs, nowMs);
      }
      return;
    default:
  }
}

function alert(
  parts: HealthKeeperParts,
  endpoint: Endpoint,
  kind: OperatorAlert["kind"],
  reason: string,
): void {
  parts.alerts.send({
    kind,
    tenantId: endpoint.tenantId,
    endpointId: endpoint.id,
    reason,
    atMs: parts.clock.now(),
  });
}
