/** One attempt of one delivery: re-read the endpoint, sign afresh, send, decide, save. */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import { signWebhook } from "../../shared/core/webhook-signature.ts";
import type { Logger } from "../../shared/io/log.ts";
import {
  type AttemptResult,
  type Claimed,
  decideOutcome,
  type Outcome,
} from "../domain/delivery.ts";
import { activeSecrets, type Endpoint } from "../domain/endpoint.ts";
import { readTarget } from "../domain/url-rules.ts";
import type { Sender } from "../sender/sender.ts";
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
  /**
   * Makes sure that this process holds the delivery for as long as an attempt may take; false when
   * someone else has it. Asked after the endpoint was read, which an outage may have delayed.
   */
  readonly holdLease: (claimed: Claimed) => Promise<boolean>;
  readonly openSecret: (endpoint: Endpoint, sealed: string) => KeyObject;
  /** Writes what came of it; answers when durable. */
  readonly settle: (settlement: Settlement) => Promise<void>;
  readonly reportHealth: (endpoint: Endpoint, result: AttemptResult, outcome: Outcome) => void;
  readonly events: WebhookEvents;
  readonly retryDelaysMs: readonly number[];
  readonly timeoutMs: number;
  readonly allowedPorts: readonly number[];
  readonly random: () => number;
};

/**
 * Makes one attempt; answers how long the endpoint took, in milliseconds. Rejects only when the
 * database did not let it begin or end.
 */
export async function makeAttempt(parts: AttemptParts, claimed: Claimed): Promise<number> {
  const { clock, settle, events } = parts;
  const endpoint = await parts.readEndpoint(claimed.endpointId);
  if (!(await parts.holdLease(claimed))) return 0;
  if (endpoint === undefined || !isWanted(endpoint, claimed)) {
    events.onFinal("dropped");
    const outcome: Outcome = { status: "dropped" };
    await settle({ claimed, attempt: undefined, outcome, atMs: clock.now() });
    return 0;
  }
  const startedAtMs = clock.now();
  const result = await send(parts, endpoint, claimed, startedAtMs);
  const atMs = clock.now();
  const outcome = decideOutcome(claimed, result, atMs, parts.retryDelaysMs, parts.random());
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
  parts.reportHealth(endpoint, result, outcome);
  const attempt = { ...result, number: claimed.attemptsMade + 1, startedAtMs };
  await settle({ claimed, attempt, outcome, atMs });
  return result.durationMs;
}

/** A delivery of an earlier enabled period is never sent in a later one. */
function isWanted(endpoint: Endpoint, claimed: Claimed): boolean {
  return endpoint.status === "enabled" && claimed.activatedAtMs >= endpoint.enabledAtMs;
}

async function send(
  parts: AttemptParts,
  endpoint: Endpoint,
  claimed: Claimed,
  nowMs: number,
): Promise<AttemptResult> {
  const target = readTarget(endpoint.url, parts.allowedPorts);
  if (target === undefined) {
    // Saved under rules that allowed it; the rules have changed since.
    return { error: "address_not_allowed", httpStatus: 0, durationMs: 0, answer: "" };
  }
  const { body } = claimed;
  const keys = activeSecrets(endpoint, nowMs).map(({ sealed }) =>
    parts.openSecret(endpoint, sealed),
  );
  return parts.sender.send({
    endpointId: endpoint.id,
    target,
    body,
    timeoutMs: parts.timeoutMs,
    headers: {
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(body, "utf8")),
      "User-Agent": USER_AGENT,
      "X-Service-Event-Type": claimed.eventType,
      "X-Service-Event-Id": claimed.eventId,
      "X-Service-Delivery-Id": claimed.id,
      "X-Service-Delivery-Attempt": String(claimed.attemptsMade + 1),
      "X-Service-Signature": signWebhook(keys, Math.floor(nowMs / 1000), body),
    },
  });
}

function outcomeClass(result: AttemptResult): string {
  if (result.error === "") return "succeeded";
  return result.error === "status"
    ? `status_${Math.floor(result.httpStatus / 100)}xx`
    : result.error;
}
