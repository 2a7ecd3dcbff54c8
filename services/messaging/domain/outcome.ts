/**
 * Applies the outcome of a submit to a message. The message must be `queued` under the claim of the outcome; any
 * other outcome is stale and changes nothing.
 *
 * | outcome          | the message becomes                                                    |
 * | ---------------- | ---------------------------------------------------------------------- |
 * | accepted         | `sent`, charged the route's frozen price                               |
 * | refused          | waiting for the next route that is left, or `failed` without one       |
 * |                  | with `dnd_blocked`: `failed`; no other route may evade the blocking    |
 * | not_sent         | waiting again, in its old place; only a system error spends budget     |
 * | unknown          | unknown: never sent again, waits for proof (end: `timeouts.ts`)        |
 * | partly_refused   | `sent`, then `undelivered` with `carrier_rejected` or `dnd_blocked`;   |
 * |                  | the charge stays                                                       |
 *
 * An unknown message with parts that were not submitted ends like `partly_refused` when a receipt proves the others.
 * If a receipt made the message `sent` before its other parts were refused, it becomes `undelivered` and is not
 * charged again. If a receipt proved that the carrier has a part, every other outcome makes the message `sent`.
 */
import type { AvailabilityOf } from "./choose-route.ts";
import { failedCode } from "./failure-reasons.ts";
import { type Decision, type Message, moveTo, unchanged } from "./message.ts";
import {
  backToWaiting,
  isPartTaken,
  type Timeouts,
  toSent,
  toUnknown,
  tryNextRoute,
} from "./queue-transitions.ts";

/** The longest delay that a carrier may ask for; a message is never deferred past its queue time. */
const DEFER_MAX_MS = 60_000;

/** A carrier's report about a submit of a claimed message. */
export type Outcome = {
  readonly claimId: string;
  readonly kind: "accepted" | "refused" | "not_sent" | "unknown" | "partly_refused";
  readonly carrierCode: string;
  /** For not_sent: the earliest next claim, by the clock of `occurredAtMs`. 0 means at once. */
  readonly retryAtMs: number;
  /** 0 if unknown. */
  readonly occurredAtMs: number;
  /**
   * For refused: our code when the carrier's maps to one, else empty. For not_sent
   * `carrier_unavailable` when the carrier's system failed.
   */
  readonly errorCode: string;
  /** For unknown: some parts were not submitted and will not be. */
  readonly isIncomplete?: boolean;
};

/** The decision, and whether the outcome was stale. */
export type OutcomeDecision = Decision & { readonly isStale: boolean };

/** Applies one outcome. Idempotent, so a carrier can repeat it after a lost response. */
export function applyOutcome(
  message: Message,
  outcome: Outcome,
  nowMs: number,
  timeouts: Timeouts,
  availabilityOf: AvailabilityOf,
): OutcomeDecision {
  if (message.claim?.id !== outcome.claimId) return { ...unchanged(message), isStale: true };
  if (message.status === "sent" && cannotBeWhole(outcome)) {
    return { ...toPartlyRefused(unchanged(message), outcome, nowMs), isStale: false };
  }
  // This claim is already resolved, by an earlier copy of this outcome or by a receipt.
  if (message.status !== "queued") return { ...unchanged(message), isStale: false };
  return { ...decide(message, outcome, nowMs, timeouts, availabilityOf), isStale: false };
}

function decide(
  message: Message,
  outcome: Outcome,
  nowMs: number,
  timeouts: Timeouts,
  availabilityOf: AvailabilityOf,
): Decision {
  const occurredMs = occurredAt(outcome, nowMs);
  const facts = factsOf(outcome);
  // A receipt proved that the carrier has a part, so it cannot have refused the message; no other route may send it.
  if (isPartTaken(message)) {
    const sent = toSent(message, occurredMs, timeouts, facts);
    return cannotBeWhole(outcome) ? toPartlyRefused(sent, outcome, nowMs) : sent;
  }
  switch (outcome.kind) {
    case "accepted":
      return toSent(message, occurredMs, timeouts, facts);
    case "refused":
      if (outcome.errorCode === "dnd_blocked") {
        return moveTo(unchanged(message), "failed", occurredMs, "dnd_blocked", facts);
      }
      return tryNextRoute(
        message,
        availabilityOf,
        failedCode(outcome.errorCode),
        occurredMs,
        facts,
      );
    case "not_sent":
      return backToWaiting(message, {
        ...facts,
        attempts: message.attempts + (outcome.errorCode === "carrier_unavailable" ? 1 : 0),
        notBeforeMs: deferUntil(outcome, nowMs),
      });
    case "unknown":
      // A repeated outcome must not extend the wait. It may report that the other parts will not follow.
      if (message.phase === "unknown") {
        return unchanged(outcome.isIncomplete ? { ...message, ...incomplete(message) } : message);
      }
      return toUnknown(message, nowMs, timeouts, outcome.isIncomplete ? incomplete(message) : {});
    case "partly_refused":
      return toPartlyRefused(toSent(message, occurredMs, timeouts, facts), outcome, nowMs);
  }
}

function toPartlyRefused(sent: Decision, outcome: Outcome, nowMs: number): Decision {
  const occurredMs = occurredAt(outcome, nowMs);
  const facts = { ...factsOf(outcome), ...incomplete(sent.message) };
  const code = outcome.errorCode === "dnd_blocked" ? "dnd_blocked" : "carrier_rejected";
  return moveTo(sent, "undelivered", occurredMs, code, facts);
}

/** The mark that receipts of the accepted parts cannot make the message delivered. */
function incomplete({ receipts }: Message): Partial<Message> {
  return { receipts: { ...receipts, isIncomplete: true } };
}

/** True if a receipt has proved that the carrier has the message of an outcome in doubt. */
export function isProven({ kind, isIncomplete = false }: Outcome, message: Message): boolean {
  return kind === "unknown" && !isIncomplete && message.status === "sent";
}

/** True if parts were refused or not submitted while others may have been accepted. */
function cannotBeWhole({ kind, isIncomplete = false }: Outcome): boolean {
  return kind === "partly_refused" || isIncomplete;
}

/**
 * When the message may be claimed again. Both instants are of the carrier's clock, so their difference is the delay.
 */
function deferUntil({ retryAtMs, occurredAtMs }: Outcome, nowMs: number): number {
  const waitMs = retryAtMs - (occurredAtMs || nowMs);
  return waitMs > 0 ? nowMs + Math.min(waitMs, DEFER_MAX_MS) : 0;
}

/** When the outcome occurred. The carrier's clock may be ahead: an instant in the future means now. */
function occurredAt(outcome: Outcome, nowMs: number): number {
  return Math.min(outcome.occurredAtMs || nowMs, nowMs);
}

function factsOf({ carrierCode }: Outcome): Partial<Message> {
  return carrierCode === "" ? {} : { carrierCode };
}
