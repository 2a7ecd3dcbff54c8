/** Keeps endpoints' health records, and disables those that fail for too long. */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { AttemptResult } from "../domain/delivery.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import { type HealthChange, judgeHealth, queueChange } from "../domain/health.ts";
import type { DeliveryQueue, WebhookEvents } from "./ports.ts";

/**
 * Where health is kept. Each takes the endpoint as it was judged, changes it only if that still
 * stands (URL, enabled period and the record of failures), and answers whether it did.
 */
export type HealthStore = {
  /** Clears whatever is marked of the URL that was asked. */
  clearFailing(endpoint: Endpoint): Promise<boolean>;
  markFailing(endpoint: Endpoint, sinceMs: number): Promise<boolean>;
  markWarned(endpoint: Endpoint, atMs: number): Promise<boolean>;
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

/** What is to be written after an attempt. */
type Judged = {
  readonly endpoint: Endpoint;
  readonly change: HealthChange;
  readonly nowMs: number;
};

/** What waits to be written of one endpoint, and the writing of what goes before it. */
type Chain = { waiting: readonly Judged[]; running: Promise<void> | undefined };

/** Endpoints of which it is remembered that they failed; the least recent are forgotten first. */
const MARKED_MAX = 10_000;

/**
 * Makes the keeper. An endpoint's changes are written one after the other, in the order in which its
 * attempts ended: else a failure's mark could pass the success that came after it.
 *
 * An attempt that read the endpoint before a failure was marked finds nothing to clear when it
 * succeeds. So it is remembered here which endpoints failed, as far as attempts of this process know,
 * and the first success costs one more update. Of another replica's mark that no attempt here has
 * read yet nothing is known; it stays until the next success, and a failed delivery is soon retried.
 */
export function createHealthKeeper(parts: HealthParts): HealthKeeper {
  const chains = new Map<string, Chain>();
  const marked = new Map<string, true>();

  async function write(endpointId: string, chain: Chain): Promise<void> {
    for (let [next] = chain.waiting; next !== undefined; [next] = chain.waiting) {
      chain.waiting = chain.waiting.slice(1);
      try {
        await apply(parts, next);
      } catch (error) {
        parts.log.warn({ error, endpoint_id: endpointId }, "health could not be written");
        // The next attempt's result will say the same again. Not so a success: what failed after it
        // must not disable before it is written. It stays first, until the next attempt ends.
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
      const change = judgeHealth(endpoint, result, nowMs, parts.disableAfterMs, isMarked);
      if (result.error !== "") setRecent(marked, id, true, MARKED_MAX);
      else if (isMarked) marked.delete(id);
      let chain = chains.get(id);
      if (chain === undefined) {
        if (change.kind === "none") return;
        chain = { waiting: [], running: undefined };
        chains.set(id, chain);
      }
      chain.waiting = queueChange(chain.waiting, { endpoint, change, nowMs });
      chain.running ??= write(id, chain);
    },
    async close() {
      await Promise.all([...chains.values()].map(({ running }) => running));
    },
  };
}

async function apply(parts: HealthParts, { endpoint, change, nowMs }: Judged): Promise<void> {
  const { store, events } = parts;
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
        tell(parts, endpoint, "endpoint_failing", `Every delivery has failed since ${since}.`);
      }
      return;
    case "disable":
      if (await store.disable(endpoint, change.reason, nowMs)) {
        parts.onStopped(endpoint.id);
        events.onDisabled();
        tell(parts, endpoint, "endpoint_disabled", change.reason);
        await parts.queue.dropWaiting(endpoint.id, nowMs, nowMs);
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
