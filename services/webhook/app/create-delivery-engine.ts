/** The delivery engine: dispatcher, attempts, results and health, wired together. */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { Sender } from "../adapters/http-client/sender.ts";
import type { WebhookConfig } from "../config.ts";
import { createSlots, SLOW_ANSWER_MS, type SlotLimits } from "../domain/concurrency-limits.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import { makeAttempt } from "./attempt.ts";
import { createEarlyAttempts, type EarlyAttempts } from "./attempt-before-store.ts";
import { createStops, type Stops } from "./disabled-endpoints.ts";
import { type Dispatcher, startDispatcher } from "./dispatcher.ts";
import { createEndpointReader } from "./endpoint-loader.ts";
import { createHealthKeeper, type HealthStore, type OperatorNotice } from "./health-keeper.ts";
import { createLeaseRenewer } from "./lease-renewer.ts";
import type { DeliveryQueue, EndpointStore, Settlement, WebhookEvents } from "./ports.ts";
import { createSettler } from "./result-writer.ts";
import { createPatience, type RetryUntilAvailable } from "./retry-until-available.ts";
import { createTargetReader } from "./url-cache.ts";

/** A running engine. */
export type Engine = {
  readonly dispatcher: Dispatcher;
  readonly early: EarlyAttempts;
  readonly stops: Stops;
  /** Waits out an outage while results of early attempts are to be stored. */
  readonly storing: RetryUntilAvailable;
  /** How long a lease lasts, in milliseconds. */
  readonly leaseMs: number;
  /**
   * To be told when an endpoint was turned off or deleted, here or at another replica, after that
   * was saved: what has not been sent yet is not sent any more.
   */
  stop(endpointId: string): void;
  close(): Promise<void>;
};

/** What an engine is made of. */
export type EngineParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly config: WebhookConfig;
  readonly events: WebhookEvents;
  readonly sender: Sender;
  readonly endpoints: EndpointStore & HealthStore;
  readonly queue: DeliveryQueue;
  readonly openSecret: (endpoint: Endpoint, sealed: string) => KeyObject;
  readonly tellOperator: (notice: OperatorNotice) => void;
  /** Called when the engine itself turned an endpoint off. */
  readonly onStopped: (endpointId: string) => void;
};

/** Beside the time on the wire: reading the endpoint, a slow event loop. */
const ATTEMPT_MARGIN_MS = 2000;

/** Connections an endpoint begins with, and has after an answer; see `domain/slots.ts`. */
const FRESH_WINDOW = 1;
const WINDOW = 2;
const SLOW_WINDOW = 16;

/** Leased deliveries in memory: of one endpoint, and of all. */
const LANE_LIMITS = { perLane: 1024, total: 8192 } as const;

/**
 * Opens an engine; attempts start at once. What an earlier run of this instance left leased is
 * given back first, before anything new can carry the instance's name.
 */
export async function openEngine(parts: EngineParts): Promise<Engine> {
  const { clock, log, config, events, queue } = parts;
  const total = config.WEBHOOK_TOTAL_CONCURRENCY;
  const attemptMsMax = config.WEBHOOK_TIMEOUT_MS + ATTEMPT_MARGIN_MS;
  const leaseMs = 2 * config.WEBHOOK_TIMEOUT_MS + 2 * ATTEMPT_MARGIN_MS;
  const stops = createStops();
  const early = createEarlyAttempts();
  const storing = createPatience("webhook deliveries", log);
  // Whatever is in the air or in a lane when the database goes away may have its answer before it is back.
  const resultsMax = 2 * (total + LANE_LIMITS.total);
  const settler = createSettler({ queue, events, log, queueMax: resultsMax });
  const reader = createEndpointReader({ store: parts.endpoints, log, queueMax: 2 * total });
  const renewer = createLeaseRenewer({ queue, clock, leaseMs, queueMax: 2 * total });
  const health = createHealthKeeper({
    clock,
    log,
    store: parts.endpoints,
    queue,
    events,
    tellOperator: parts.tellOperator,
    onStopped: parts.onStopped,
    disableAfterMs: config.WEBHOOK_DISABLE_AFTER_MS,
  });
  const attemptParts = {
    clock,
    log,
    events,
    sender: parts.sender,
    readEndpoint: reader.read,
    stopOf: stops.of,
    attemptMsMax,
    renewLease: renewer.renew,
    openSecret: parts.openSecret,
    settle: async (settlement: Settlement) => {
      if (!(await early.keep(settlement))) await settler.settle(settlement);
    },
    reportHealth: health.report,
    retryDelaysMs: config.WEBHOOK_RETRY_DELAYS_MS,
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
    readTarget: createTargetReader(config.WEBHOOK_ALLOWED_PORTS),
    random: Math.random,
  };
  await queue.releaseOwn(clock.now(), leaseMs).catch((error: unknown) => {
    log.warn({ error }, "earlier leases end by themselves");
  });
  const dispatcher = startDispatcher({
    clock,
    log,
    queue,
    slots: createSlots(slotLimits(config)),
    laneLimits: LANE_LIMITS,
    async attempt(claimed) {
      // The lease ends by itself, and the delivery is due again.
      const note = (error: unknown) =>
        log.warn({ error, delivery_id: claimed.id }, "an attempt could not begin or end");
      try {
        const { answerMs, settled } = await makeAttempt(attemptParts, claimed);
        return { answerMs, settled: settled.catch(note) };
      } catch (error) {
        note(error);
        return { answerMs: 0, settled: Promise.resolve() };
      }
    },
    isStuck: () => settler.isStuck() || reader.isStuck() || storing.isStuck(),
    pollIntervalMs: config.WEBHOOK_POLL_INTERVAL_MS,
    leaseMs,
  });
  return {
    dispatcher,
    early,
    stops,
    storing,
    leaseMs,
    stop(endpointId) {
      stops.note(endpointId);
      parts.sender.stop(endpointId);
    },
    async close() {
      reader.stopWaiting();
      await dispatcher.close();
      await settler.close();
      await health.close();
      await reader.close();
      await renewer.close();
    },
  };
}

function slotLimits(config: WebhookConfig): SlotLimits {
  const total = config.WEBHOOK_TOTAL_CONCURRENCY;
  return {
    perEndpoint: config.WEBHOOK_ENDPOINT_CONCURRENCY,
    perTenant: config.WEBHOOK_TENANT_CONCURRENCY,
    slowPerTenant: Math.ceil((config.WEBHOOK_TENANT_CONCURRENCY * 3) / 4),
    total,
    slowTotal: Math.ceil(total / 2),
    unprovenTotal: Math.ceil((total * 3) / 4),
    freshTotal: Math.ceil(total / 16),
    freshWindow: FRESH_WINDOW,
    slowWindow: SLOW_WINDOW,
    // Timers are whole milliseconds, and may come one early.
    hangMs: Math.max(SLOW_ANSWER_MS, config.WEBHOOK_TIMEOUT_MS - 5),
    window: Math.min(WINDOW, config.WEBHOOK_ENDPOINT_CONCURRENCY),
  };
}
