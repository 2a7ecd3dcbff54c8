/**
 * One attempt of one delivery: read the endpoint again, unless it was read within the last 50 ms
 * and no stop was heard since; sign afresh, send, decide, save.
 */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { signWebhook } from "../../shared/core/webhook-signature.ts";
import type { OpenSpan } from "../../shared/io/tracing.ts";
import type { Sender } from "../adapters/http-client/sender.ts";
import {
  type AttemptResult,
  type Claimed,
  decideOutcome,
  type EndpointAsRead,
  type Outcome,
} from "../domain/delivery.ts";
import { activeSecrets, type Endpoint } from "../domain/endpoint.ts";
import type { Target } from "../domain/url-rules.ts";
import { endAttemptSpan, openAttemptSpan } from "./attempt-span.ts";
import type { Settlement, WebhookEvents } from "./ports.ts";

/** `User-Agent` of webhook requests (`service.md` "Events"). */
export const USER_AGENT = "Service-Webhooks/1";

/** What an attempt needs. */
export type AttemptParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly sender: Sender;
  /** Reads an endpoint as it is now; `undefined` when it was deleted. */
  readonly readEndpoint: (endpointId: string) => Promise<Endpoint | undefined>;
  /** Changes whenever the endpoint is turned off or deleted. */
  readonly stopOf: (endpointId: string) => number;
  /** How long an attempt may take, and so a lease must last when it begins, in milliseconds. */
  readonly attemptMsMax: number;
  /** Lengthens the lease; answers its new end, or `undefined` when someone else has the delivery. */
  readonly renewLease: (claimed: Claimed) => Promise<number | undefined>;
  readonly openSecret: (endpoint: Endpoint, sealed: string) => KeyObject;
  /** Writes what came of it; answers when durable. */
  readonly settle: (settlement: Settlement) => Promise<void>;
  readonly reportHealth: (endpoint: Endpoint, result: AttemptResult) => void;
  readonly events: WebhookEvents;
  readonly retryDelaysMs: readonly number[];
  readonly timeoutMs: number;
  /** Reads an endpoint's URL by the rules of now; `undefined` when it breaks one. */
  readonly readTarget: (url: string) => Target | undefined;
  readonly random: () => number;
};

/** An attempt that has its answer. */
export type Attempted = {
  /** How long the endpoint took, in milliseconds; 0 when it was not asked. */
  readonly answerMs: number;
  /** Answers when the result is durable; rejects when it could not be written. */
  readonly settled: Promise<void>;
};

/** Makes one attempt, up to its answer. Rejects only when the database did not let it begin. */
export async function makeAttempt(parts: AttemptParts, claimed: Claimed): Promise<Attempted> {
  const { clock, settle, events } = parts;
  const begun = await begin(parts, claimed);
  if (begun === undefined) return { answerMs: 0, settled: Promise.resolve() };
  const { endpoint, stop } = begun;
  const startedAtMs = clock.now();
  const span = openAttemptSpan(claimed, startedAtMs);
  const result =
    endpoint === undefined ? undefined : await send(parts, endpoint, claimed, startedAtMs, span);
  endAttemptSpan(span, result);
  const atMs = clock.now();
  if (endpoint === undefined || result === undefined) {
    const isOff = endpoint === undefined || !(await isStillWanted(parts, claimed));
    if (isOff) events.onFinal("dropped");
    const outcome = isOff ? DROPPED : notBegun(claimed, atMs);
    return { answerMs: 0, settled: settle({ claimed, attempt: undefined, outcome, atMs }) };
  }
  let outcome = decideOutcome(claimed, result, atMs, parts.retryDelaysMs, parts.random());
  if (outcome.status === "pending" && parts.stopOf(claimed.endpointId) !== stop) {
    // Turned off while its answer was awaited: the retry is dropped now, and not when it is due.
    if (!(await isStillWanted(parts, claimed))) outcome = DROPPED;
  }
  events.onAttempt(outcomeClass(result), result.durationMs);
  if (outcome.status !== "pending") events.onFinal(outcome.status);
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
      delivery_status: outcome.status,
    },
    "attempted",
  );
  parts.reportHealth(endpoint, result);
  const attempt = { ...result, number: claimed.attemptsMade + 1, startedAtMs };
  return { answerMs: result.durationMs, settled: settle({ claimed, attempt, outcome, atMs }) };
}

const DROPPED: Outcome = { status: "dropped" };

/** The word that stopped it was late: the endpoint is on again, and the attempt is made anew. */
function notBegun({ attemptsLeft }: Claimed, nowMs: number): Outcome {
  return { status: "pending", attemptsLeft, nextAttemptAtMs: nowMs };
}

async function isStillWanted(
  { readEndpoint }: Pick<AttemptParts, "readEndpoint">,
  claimed: Claimed,
): Promise<boolean> {
  return isWanted(await readEndpoint(claimed.endpointId), claimed);
}

/**
 * Reads the endpoint while holding the delivery for as long as an attempt may take. Either may be
 * delayed by an outage, and an endpoint may be turned off meanwhile, so both are asked again until
 * they hold at the same moment: what follows begins with it, without a wait in between. Answers
 * no endpoint when it does not want the delivery, and nothing when someone else has it.
 */
async function begin(
  parts: AttemptParts,
  claimed: Claimed,
): Promise<{ readonly endpoint: Endpoint | undefined; readonly stop: number } | undefined> {
  const { endpointId, asRead } = claimed;
  let { leaseUntilMs } = claimed;
  for (;;) {
    const stop = parts.stopOf(endpointId);
    if (asRead !== undefined && stop <= asRead.stopMark && isFresh(asRead, parts.clock.now())) {
      return { endpoint: isWanted(asRead.endpoint, claimed) ? asRead.endpoint : undefined, stop };
    }
    const endpoint = await parts.readEndpoint(endpointId);
    if (leaseUntilMs - parts.clock.now() < parts.attemptMsMax) {
      const renewed = await parts.renewLease(claimed);
      if (renewed === undefined) return undefined;
      leaseUntilMs = renewed;
    } else if (parts.stopOf(endpointId) === stop) {
      return { endpoint: isWanted(endpoint, claimed) ? endpoint : undefined, stop };
    }
  }
}

/** A read as old as a request is on its way is as good as a new one. */
const FRESH_MS = 50;

function isFresh({ atMs }: EndpointAsRead, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < FRESH_MS;
}

/** A delivery of an earlier enabled period is never sent in a later one. */
function isWanted(endpoint: Endpoint | undefined, claimed: Claimed): boolean {
  return endpoint?.status === "enabled" && claimed.activatedAtMs >= endpoint.enabledAtMs;
}

async function send(
  parts: AttemptParts,
  endpoint: Endpoint,
  claimed: Claimed,
  nowMs: number,
  span: OpenSpan | undefined,
): Promise<AttemptResult | undefined> {
  const target = parts.readTarget(endpoint.url);
  if (target === undefined) {
    // Saved under rules that allowed it; the rules have changed since.
    return { error: "address_not_allowed", httpStatus: 0, durationMs: 0, answer: "" };
  }
  const { body } = claimed;
  const keys = signingKeys(parts, endpoint, nowMs);
  return parts.sender.send({
    endpointId: endpoint.id,
    target,
    body,
    timeoutMs: parts.timeoutMs,
    headers: {
      "Content-Type": "application/json",
      "User-Agent": USER_AGENT,
      "X-Service-Event-Type": claimed.eventType,
      "X-Service-Event-Id": claimed.eventId,
      "X-Service-Delivery-Id": claimed.id,
      "X-Service-Delivery-Attempt": String(claimed.attemptsMade + 1),
      "X-Service-Signature": signWebhook(keys, Math.floor(nowMs / 1000), body),
      ...(span === undefined ? {} : { traceparent: span.traceparent }),
    },
  });
}

/**
 * The keys that sign now. An older secret that cannot be opened, its key being lost, keeps the present one from
 * nothing; one that signs alone cannot be done without, and the delivery waits.
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
      parts.log.warn({ error, endpointId: endpoint.id }, "an older webhook secret does not open");
      return [];
    }
  });
}

function outcomeClass(result: AttemptResult): string {
  if (result.error === "") return "succeeded";
  return result.error === "status"
    ? `status_${Math.floor(result.httpStatus / 100)}xx`
    : result.error;
}
