/** Wires the delivery engine: dispatcher, attempts, results and health. */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import {
  type ConcurrencyLimits,
  createConcurrencyLimiter,
  SLOW_RESPONSE_MS,
} from "../domain/concurrency-limits.ts";
import type { Claimed } from "../domain/delivery.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import { type Attempted, type AttemptParts, makeAttempt } from "./attempt.ts";
import { type AttemptsBeforeStore, createAttemptsBeforeStore } from "./attempt-before-store.ts";
import { createDisabledEndpoints, type DisabledEndpoints } from "./disabled-endpoints.ts";
import { type Dispatcher, startDispatcher } from "./dispatcher.ts";
import { createEndpointLoader } from "./endpoint-loader.ts";
import { createHealthKeeper, type HealthStore } from "./health-keeper.ts";
import { createLeaseRenewer } from "./lease-renewer.ts";
import type {
  AttemptTracer,
  DeliveryMetrics,
  DeliveryQueue,
  EndpointStopper,
  EndpointStore,
  HttpClient,
  OperatorAlerts,
  StopPublisher,
} from "./ports.ts";
import { createResultWriter } from "./result-writer.ts";
import { createRetryUntilAvailable, type RetryUntilAvailable } from "./retry-until-available.ts";
import { createUrlCache } from "./url-cache.ts";

/** A running engine. */
export type DeliveryEngine = {
  readonly dispatcher: Dispatcher;
  readonly beforeStore: AttemptsBeforeStore;
  readonly disabled: DisabledEndpoints;
  /** Retries the insert of deliveries that were attempted before it. */
  readonly insertRetry: RetryUntilAvailable;
  readonly leaseMs: number;
  /**
   * Stops a disabled or deleted endpoint on this replica and on the others. Call it after the change
   * is saved: requests that have not left are ended.
   */
  readonly stopper: EndpointStopper;
  /** Stops an endpoint on this replica alone: another replica published it. */
  stopHere(endpointId: string): void;
  close(): Promise<void>;
};

/** Settings of the engine. */
export type EngineSettings = {
  readonly timeoutMs: number;
  readonly retryDelaysMs: readonly number[];
  readonly disableAfterMs: number;
  readonly allowedPorts: readonly number[];
  readonly endpointConcurrency: number;
  readonly tenantConcurrency: number;
  readonly totalConcurrency: number;
  readonly pollIntervalMs: number;
};

/** Dependencies of the engine. */
export type DeliveryEngineParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: EngineSettings;
  readonly metrics: DeliveryMetrics;
  readonly tracer: AttemptTracer;
  readonly httpClient: HttpClient;
  readonly endpoints: EndpointStore & HealthStore;
  readonly queue: DeliveryQueue;
  readonly openSecret: (endpoint: Endpoint, sealed: string) => KeyObject;
  readonly alerts: OperatorAlerts;
  readonly stopPublisher: StopPublisher;
};

/** Time of an attempt outside its request: reading the endpoint, a slow event loop. */
const ATTEMPT_MARGIN_MS = 2000;

/** Permits of an endpoint before and after its first response; see `domain/concurrency-limits.ts`. */
const FRESH_WINDOW = 1;
const WINDOW = 2;
const SLOW_WINDOW = 16;

/** Leased deliveries in memory: of one endpoint, and of all. */
const BUFFER_LIMITS = { perEndpoint: 1024, total: 8192 } as const;

/**
 * Attempts start at once. The leases that an earlier run of this instance held are released first,
 * before a new lease can carry the instance's name.
 */
export async function createDeliveryEngine(parts: DeliveryEngineParts): Promise<DeliveryEngine> {
  const { clock, log, settings, metrics, queue, httpClient } = parts;
  const total = settings.totalConcurrency;
  const leaseMs = 2 * settings.timeoutMs + 2 * ATTEMPT_MARGIN_MS;
  const disabled = createDisabledEndpoints();
  const beforeStore = createAttemptsBeforeStore();
  const insertRetry = createRetryUntilAvailable("webhook deliveries", log);
  // During an outage every running and buffered delivery may get its response.
  const resultsMax = 2 * (total + BUFFER_LIMITS.total);
  const resultWriter = createResultWriter({ queue, metrics, log, queueMax: resultsMax });
  const loader = createEndpointLoader({ store: parts.endpoints, log, queueMax: 2 * total });
  const renewer = createLeaseRenewer({ queue, clock, leaseMs, queueMax: 2 * total });
  const stopHere = (endpointId: string) => {
    disabled.add(endpointId);
    httpClient.stop(endpointId);
  };
  const stopper: EndpointStopper = {
    stop(endpointId) {
      stopHere(endpointId);
      parts.stopPublisher.publish(endpointId);
    },
  };
  const health = createHealthKeeper({
    ...{ clock, log, store: parts.endpoints, queue, metrics, stopper },
    alerts: parts.alerts,
    disableAfterMs: settings.disableAfterMs,
  });
  const attemptParts: AttemptParts = {
    ...{ clock, log, metrics, httpClient, tracer: parts.tracer },
    readEndpoint: loader.read,
    stopVersionOf: disabled.versionOf,
    attemptMsMax: settings.timeoutMs + ATTEMPT_MARGIN_MS,
    renewLease: renewer.renew,
    openSecret: parts.openSecret,
    async writeResult(result) {
      if (!(await beforeStore.offer(result))) await resultWriter.write(result);
    },
    reportHealth: health.report,
    retryDelaysMs: settings.retryDelaysMs,
    timeoutMs: settings.timeoutMs,
    readTarget: createUrlCache(settings.allowedPorts),
    random: Math.random,
  };
  await queue.releaseOwn(clock.now(), leaseMs).catch((error: unknown) => {
    log.warn({ error }, "leases of an earlier run were not released; they will expire");
  });
  const dispatcher = startDispatcher({
    ...{ clock, log, queue, leaseMs },
    limiter: createConcurrencyLimiter(concurrencyLimits(settings)),
    bufferLimits: BUFFER_LIMITS,
    attempt: (claimed) => attemptSafely(attemptParts, claimed),
    isBlocked: () => resultWriter.isBlocked() || loader.isBlocked() || insertRetry.isBlocked(),
    pollIntervalMs: settings.pollIntervalMs,
  });
  return {
    ...{ dispatcher, beforeStore, disabled, insertRetry, leaseMs, stopper, stopHere },
    async close() {
      loader.stopWaiting();
      await dispatcher.close();
      await resultWriter.close();
      await health.close();
      await loader.close();
      await renewer.close();
    },
  };
}

/** Never rejects: after a failure the lease expires, and the delivery is due again. */
async function attemptSafely(parts: AttemptParts, claimed: Claimed): Promise<Attempted> {
  const warn = (error: unknown) =>
    parts.log.warn({ error, delivery_id: claimed.id }, "an attempt could not begin or end");
  try {
    const { responseMs, written } = await makeAttempt(parts, claimed);
    return { responseMs, written: written.catch(warn) };
  } catch (error) {
    warn(error);
    return { responseMs: 0, written: Promise.resolve() };
  }
}

function concurrencyLimits(settings: EngineSettings): ConcurrencyLimits {
  const { endpointConcurrency, tenantConcurrency, totalConcurrency: total } = settings;
  return {
    perEndpoint: endpointConcurrency,
    perTenant: tenantConcurrency,
    slowPerTenant: Math.ceil((tenantConcurrency * 3) / 4),
    total,
    slowTotal: Math.ceil(total / 2),
    unprovenTotal: Math.ceil((total * 3) / 4),
    freshTotal: Math.ceil(total / 16),
    freshWindow: FRESH_WINDOW,
    slowWindow: SLOW_WINDOW,
    // A timer counts whole milliseconds and may fire one early.
    hangMs: Math.max(SLOW_RESPONSE_MS, settings.timeoutMs - 5),
    window: Math.min(WINDOW, endpointConcurrency),
  };
}
