/** Keeps endpoints' health records, and disables those that fail for too long. */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/io/log.ts";
import type { AttemptResult } from "../domain/delivery.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import { type HealthChange, judgeHealth } from "../domain/health.ts";
import type { DeliveryQueue, WebhookEvents } from "./ports.ts";

/** Where health is kept. Each answers whether it changed anything. */
export type HealthStore = {
  clearFailing(endpointId: string): Promise<boolean>;
  markFailing(endpointId: string, sinceMs: number): Promise<boolean>;
  markWarned(endpointId: string, atMs: number): Promise<boolean>;
  /** Disables the endpoint if its enabled period is still the one that was judged. */
  disable(endpoint: Endpoint, reason: string, atMs: number): Promise<boolean>;
};

/** What operators are told. */
export type OperatorNotice = {
  readonly kind: "endpoint_failing" | "endpoint_disabled";
  readonly tenantId: string;
  readonly endpointId: string;
  readonly reason: string;
  readonly atMs: number;
};

/** What the keeper needs. */
export type HealthParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: HealthStore;
  readonly queue: Pick<DeliveryQueue, "dropWaiting">;
  readonly events: WebhookEvents;
  readonly tellOperator: (notice: OperatorNotice) => void;
  /** Called once an endpoint is off, before what waits for it is dropped. */
  readonly onStopped: (endpointId: string) => void;
  readonly disableAfterMs: number;
};

/** Judges attempts as they end; the writing goes on behind them. */
export type HealthKeeper = {
  report(endpoint: Endpoint, result: AttemptResult): void;
  close(): Promise<void>;
};

/** Makes the keeper. A change already being written for an endpoint is not written twice at once. */
export function createHealthKeeper(parts: HealthParts): HealthKeeper {
  const running = new Map<string, Promise<void>>();

  return {
    report(endpoint, result) {
      const nowMs = parts.clock.now();
      const change = judgeHealth(endpoint, result, nowMs, parts.disableAfterMs);
      const key = `${endpoint.id}|${change.kind}`;
      if (change.kind === "none" || running.has(key)) return;
      const work = apply(parts, endpoint, change, nowMs)
        .catch((error: unknown) => {
          // The next attempt's result will say the same again.
          parts.log.warn({ error, endpoint_id: endpoint.id }, "health could not be written");
        })
        .finally(() => running.delete(key));
      running.set(key, work);
    },
    async close() {
      await Promise.all(running.values());
    },
  };
}

async function apply(
  parts: HealthParts,
  endpoint: Endpoint,
  change: HealthChange,
  nowMs: number,
): Promise<void> {
  const { store, events } = parts;
  switch (change.kind) {
    case "clear":
      await store.clearFailing(endpoint.id);
      return;
    case "failing":
      await store.markFailing(endpoint.id, nowMs);
      return;
    case "warn":
      if (await store.markWarned(endpoint.id, nowMs)) {
        const since = new Date(endpoint.failingSinceMs).toISOString();
        tell(parts, endpoint, "endpoint_failing", `Every delivery has failed since ${since}.`);
      }
      return;
    case "disable":
      if (await store.disable(endpoint, change.reason, nowMs)) {
        parts.onStopped(endpoint.id);
        events.onDisabled(change.cause);
        tell(parts, endpoint, "endpoint_disabled", change.reason);
        await parts.queue.dropWaiting(endpoint.id, nowMs);
      }
      return;
    default:
  }
}

function tell(
  parts: HealthParts,
  endpoint: Endpoint,
  kind: OperatorNotice["kind"],
  reason: string,
): void {
  parts.tellOperator({
    kind,
    tenantId: endpoint.tenantId,
    endpointId: endpoint.id,
    reason,
    atMs: parts.clock.now(),
  });
}
