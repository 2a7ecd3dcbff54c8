/**
 * One attempt of one delivery: read the endpoint, sign, send, decide, write the result. An endpoint
 * that was read within the last 50 ms, and was not stopped since, is not read again.
 */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { webhookHeaders } from "../../shared/core/webhook-headers.ts";
import { signWebhook } from "../../shared/core/webhook-signature.ts";
import {
  type Claimed,
  decideNextState,
  type EndpointAsRead,
  type NextState,
  type RequestResult,
} from "../domain/delivery.ts";
import { activeSecrets, type Endpoint } from "../domain/endpoint.ts";
import type { Target } from "../domain/url-rules.ts";
import type {
  AttemptResult,
  AttemptSpan,
  AttemptTracer,
  DeliveryMetrics,
  HttpClient,
} from "./ports.ts";

/** Dependencies of an attempt. */
export type AttemptParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly httpClient: HttpClient;
  readonly tracer: AttemptTracer;
  /** Reads an endpoint; `undefined` when it was deleted. */
  readonly readEndpoint: (endpointId: string) => Promise<Endpoint | undefined>;
  /** A number that changes whenever the endpoint is disabled or deleted. */
  readonly stopVersionOf: (endpointId: string) => number;
  /** The longest attempt. A lease must last this long when the attempt begins. */
  readonly attemptMsMax: number;
  /** Extends the lease; returns its new end, or `undefined` when another process has it. */
  readonly renewLease: (claimed: Claimed) => Promise<number | undefined>;
  readonly openSecret: (endpoint: Endpoint, sealed: string) => KeyObject;
  /** Writes the result; resolves when it is durable. */
  readonly writeResult: (result: AttemptResult) => Promise<void>;
  readonly reportHealth: (endpoint: Endpoint, result: RequestResult) => void;
  readonly metrics: DeliveryMetrics;
  readonly retryDelaysMs: readonly number[];
  readonly timeoutMs: number;
  /** Checks a URL by the present rules; `undefined` when it breaks one. */
  readonly readTarget: (url: string) => Target | undefined;
  readonly random: () => number;
};

/** The end of an attempt: its request has ended, or none was made. */
export type Attempted = {
  /** How long the response took; 0 when no request was made. */
  readonly responseMs: number;
  /** Resolves when the result is durable; rejects when it could not be written. */
  readonly written: Promise<void>;
};

/** Makes one attempt up to its response. Rejects when the request could not begin. */
export async function makeAttempt(parts: AttemptParts, claimed: Claimed): Promise<Attempted> {
  const { clock, writeResult, metrics } = parts;
  const begun = await begin(parts, claimed);
  if (begun === undefined) return { responseMs: 0, written: Promise.resolve() };
  const { endpoint, stop } = begun;
  const startedAtMs = clock.now();
  const span = parts.tracer.start(claimed, startedAtMs);
  const result =
    endpoint === undefined ? undefined : await send(parts, endpoint, claimed, startedAtMs, span);
  span?.end(result);
  const atMs = clock.now();
  if (endpoint === undefined || result === undefined) {
    const isOff = endpoint === undefined || !(await isStillWanted(parts, claimed));
    if (isOff) metrics.onFinal("dropped");
    const next = isOff ? DROPPED : notBegun(claimed, atMs);
    return { responseMs: 0, written: writeResult({ claimed, attempt: undefined, next, atMs }) };
  }
  let next = decideNextState(claimed, result, atMs, parts.retryDelaysMs, parts.random());
  if (next.status === "pending" && parts.stopVersionOf(claimed.endpointId) !== stop) {
    // The endpoint was disabled during the request: drop the retry now, not when it is due.
    if (!(await isStillWanted(parts, claimed))) next = DROPPED;
  }
  metrics.onAttempt(resultClass(result), result.durationMs);
  if (next.status !== "pending") metrics.onFinal(next.status);
  parts.log.debug(
    {
      tenant_id: claimed.tenantId,
      endpoint_id: claimed.endpointId,
      delivery_id: claimed.id,
      event_type: claimed.eventType,
      attempt: claimed.attemptsMade + 1,
      http_status: result.httpStatus,
      error: result.error,
      duration_ms: result.durationMs,
      delivery_status: next.status,
    },
    "attempted",
  );
  parts.reportHealth(endpoint, result);
  const attempt = { ...result, number: claimed.attemptsMade + 1, startedAtMs };
  // A response within the clock's millisecond is one too: 0 would make the fastest endpoints count as slow.
  const responseMs = Math.max(1, result.durationMs);
  return { responseMs, written: writeResult({ claimed, attempt, next, atMs }) };
}

const DROPPED: NextState = { status: "dropped" };

/** The stop arrived late and the endpoint is enabled again: repeat the attempt, uncounted. */
function notBegun({ attemptsLeft }: Claimed, nowMs: number): NextState {
  return { status: "pending", attemptsLeft, nextAttemptAtMs: nowMs };
}

async function isStillWanted(
  { readEndpoint }: Pick<AttemptParts, "readEndpoint">,
  claimed: Claimed,
): Promise<boolean> {
  return isWanted(await readEndpoint(claimed.endpointId), claimed);
}

/**
 * Reads the endpoint and makes sure that the lease lasts for an attempt. An outage may delay either,
 * and the endpoint may be disabled meanwhile, so both repeat until they hold at the same moment; the
 * request follows without a wait. Returns no endpoint when the delivery must be dropped, and nothing
 * when another process holds the lease.
 */
async function begin(
  parts: AttemptParts,
  claimed: Claimed,
): Promise<{ readonly endpoint: Endpoint | undefined; readonly stop: number } | undefined> {
  const { endpointId, asRead } = claimed;
  let { leaseUntilMs } = claimed;
  for (;;) {
    const stop = parts.stopVersionOf(endpointId);
    if (asRead !== undefined && stop <= asRead.stopVersion && isFresh(asRead, parts.clock.now())) {
      return { endpoint: isWanted(asRead.endpoint, claimed) ? asRead.endpoint : undefined, stop };
    }
    const endpoint = await parts.readEndpoint(endpointId);
    if (leaseUntilMs - parts.clock.now() < parts.attemptMsMax) {
      const renewed = await parts.renewLease(claimed);
      if (renewed === undefined) return undefined;
      leaseUntilMs = renewed;
    } else if (parts.stopVersionOf(endpointId) === stop) {
      return { endpoint: isWanted(endpoint, claimed) ? endpoint : undefined, stop };
    }
  }
}

/** An endpoint read this recently needs no second read: a request takes as long to arrive. */
const FRESH_MS = 50;

function isFresh({ atMs }: EndpointAsRead, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < FRESH_MS;
}

/** A delivery of an earlier enabled period is never sent. */
function isWanted(endpoint: Endpoint | undefined, claimed: Claimed): boolean {
  return endpoint?.status === "enabled" && claimed.activatedAtMs >= endpoint.enabledAtMs;
}

async function send(
  parts: AttemptParts,
  endpoint: Endpoint,
  claimed: Claimed,
  nowMs: number,
  span: AttemptSpan | undefined,
): Promise<RequestResult | undefined> {
  const target = parts.readTarget(endpoint.url);
  if (target === undefined) {
    // The URL was saved under rules that have changed.
    return { error: "address_not_allowed", httpStatus: 0, durationMs: 0, answer: "" };
  }
  const { body } = claimed;
  const keys = signingKeys(parts, endpoint, nowMs);
  return parts.httpClient.send({
    endpointId: endpoint.id,
    target,
    body,
    timeoutMs: parts.timeoutMs,
    headers: {
      ...webhookHeaders({
        eventType: claimed.eventType,
        eventId: claimed.eventId,
        deliveryId: claimed.id,
        attempt: claimed.attemptsMade + 1,
        signature: signWebhook(keys, Math.floor(nowMs / 1000), body),
      }),
      ...(span === undefined ? {} : { traceparent: span.traceparent }),
    },
  });
}

/**
 * The active signing keys. An older secret that does not open, because its encryption key was lost,
 * is skipped. Without the present secret the attempt fails and the delivery waits.
 */
function signingKeys(
  parts: Pick<AttemptParts, "openSecret" | "log">,
  endpoint: Endpoint,
  nowMs: number,
): KeyObject[] {
  return activeSecrets(endpoint, nowMs).flatMap(({ sealed, expiresAtMs }) => {
    try {
      return parts.openSecret(endpoint, sealed);
    } catch (error) {
      if (expiresAtMs === undefined) throw error;
      parts.log.warn(
        { error, endpointId: endpoint.id },
        "an older webhook secret cannot be opened",
      );
      return [];
    }
  });
}

function resultClass(result: RequestResult): string {
  if (result.error === "") return "succeeded";
  return result.error === "status"
    ? `status_${Math.floor(result.httpStatus / 100)}xx`
    : result.error;
}
