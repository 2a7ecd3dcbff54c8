/**
 * Derives the outcome of a message from the carrier's answers to its parts.
 *
 * - One part in doubt puts the message in doubt, so that it is never submitted twice. Exceptions: when one part is
 *   accepted and another permanently refused, the message is sent and cannot arrive whole. And when one part is
 *   accepted, parts that the carrier certainly does not have are submitted first.
 * - A message is accepted when every part is.
 * - When parts were deferred (throttled, not sent) and none was accepted, the whole message returns to its queue.
 *   After the first accepted part this process retries the others; when they stay unsent the
 *   message ends as `partly_refused`.
 */
import type { ClaimedMessage, Outcome, OutcomeKind, PartOutcome, RefusalCause } from "./message.ts";

/** After this many system errors the carrier has refused the message. */
export const TEMPORARY_MAX = 8;
const QUIET_RETRY_MS = 1000;
const RETRY_BASE_MS = 250;
const RETRY_CAP_MS = 5000;
/**
 * The longest delay of a throttled message. The rate of a busy bind limits its submits, so its messages wait little
 * and its capacity is used. A number that is refused for hours costs two submits per minute.
 */
const THROTTLED_DELAY_MAX_MS: Readonly<Record<RefusalCause, number>> = {
  bind: 500,
  unclear: 5000,
  number: 30_000,
};

/** The next step after a round of submits. */
export type NextStep =
  /** Submit the parts with these indexes again, over any bind. */
  | { readonly kind: "again"; readonly parts: readonly number[] }
  | { readonly kind: "done"; readonly outcome: Outcome };

/**
 * Decides the next step from the newest outcome of each part. `deferrals` counts how often the carrier has
 * deferred the message, as far as known; it only makes the delay longer.
 */
export function decideNextStep(
  message: ClaimedMessage,
  parts: readonly (PartOutcome | undefined)[],
  nowMs: number,
  deferrals = 0,
): NextStep {
  const inDoubt = parts.find((part) => part?.kind === "unknown");
  const accepted = parts.filter(isAccepted).length;
  const isCertainlyPartial = accepted > 0 && parts.some(isPermanentRefusal);
  const missing = parts.flatMap((part, at) => (isMissing(part) ? [at] : []));
  const canGoOn = accepted > 0 && missing.length > 0;
  if (inDoubt !== undefined && !isCertainlyPartial && !canGoOn) {
    return done(message, "unknown", inDoubt.code, nowMs);
  }
  if (accepted === parts.length) return done(message, "accepted", "", nowMs);
  const refusal = parts.find((part) => isFinalRefusal(message, part));
  if (refusal !== undefined && refusal.kind === "refused") {
    return done(message, accepted > 0 ? "partly_refused" : "refused", refusal.code, nowMs, {
      errorCode: errorCodeOf(refusal),
    });
  }
  if (accepted > 0) return { kind: "again", parts: missing };
  const deferred = parts.find((part) => part !== undefined && part.kind !== "accepted");
  if (deferred?.kind !== "refused") {
    return done(message, "not_sent", deferred?.code ?? "", nowMs, { retryAtMs: nowMs });
  }
  return done(message, "not_sent", deferred.code, nowMs, {
    retryAtMs: nowMs + refusedDelayMs(deferred, Math.max(message.attempt, deferrals)),
    errorCode: deferred.disposition === "temporary" ? "carrier_unavailable" : "",
  });
}

/** Whether the carrier certainly does not have a part: it was not submitted, or refused. */
export function isMissing(part: PartOutcome | undefined): boolean {
  return part?.kind !== "accepted" && part?.kind !== "unknown";
}

/** The outcome of a message that was claimed and never submitted; `retryAtMs` 0 lets any carrier claim it at once. */
export function returnToQueue(message: ClaimedMessage, code: string, nowMs: number): Outcome {
  return build(message, "not_sent", code, nowMs);
}

/**
 * The outcome of a message whose quiet hours have begun since its claim: the next claim takes it out of the queue. That
 * claim comes a second later, because by messaging's clock the quiet hours may not have begun yet.
 */
export function returnInQuietHours(message: ClaimedMessage, nowMs: number): Outcome {
  return build(message, "not_sent", "quiet_hours", nowMs, { retryAtMs: nowMs + QUIET_RETRY_MS });
}

/** The outcome of a message of which octets may have left. */
export function doubt(message: ClaimedMessage, code: string, nowMs: number): Outcome {
  return build(message, "unknown", code, nowMs);
}

/** The outcome of a message whose remaining parts could not be submitted in time. */
export function failRemainingParts(message: ClaimedMessage, code: string, nowMs: number): Outcome {
  return build(message, "partly_refused", code, nowMs);
}

/** The delay before the same submit is retried: 250 ms, doubling, at most `maxMs`. */
export function retryDelayMs(attempt: number, maxMs = RETRY_CAP_MS): number {
  return Math.min(maxMs, RETRY_BASE_MS * 2 ** Math.min(attempt, 10));
}

/** A throttled message waits longer each time, and at least as long as the carrier asks for. */
export function refusedDelayMs(
  { disposition, cause = "bind", retryAfterMs = 0 }: Extract<PartOutcome, { kind: "refused" }>,
  attempt: number,
): number {
  if (disposition !== "throttled") return retryDelayMs(attempt);
  return Math.max(retryAfterMs, retryDelayMs(attempt, THROTTLED_DELAY_MAX_MS[cause]));
}

function isAccepted(part: PartOutcome | undefined): boolean {
  return part?.kind === "accepted";
}

function isPermanentRefusal(part: PartOutcome | undefined): boolean {
  return part?.kind === "refused" && part.disposition === "permanent";
}

/** Throttling never ends a message; only the end of its queue time does. */
function isFinalRefusal(message: ClaimedMessage, part: PartOutcome | undefined): boolean {
  if (isPermanentRefusal(part)) return true;
  if (part?.kind !== "refused") return false;
  return part.disposition === "temporary" && message.attempt + 1 >= TEMPORARY_MAX;
}

function errorCodeOf({ disposition, errorCode }: Extract<PartOutcome, { kind: "refused" }>) {
  if (errorCode !== undefined) return errorCode;
  return disposition === "permanent" ? "carrier_rejected" : "carrier_unavailable";
}

function done(
  message: ClaimedMessage,
  kind: OutcomeKind,
  code: string,
  nowMs: number,
  more: Partial<Outcome> = {},
): NextStep {
  return { kind: "done", outcome: build(message, kind, code, nowMs, more) };
}

function build(
  message: ClaimedMessage,
  kind: OutcomeKind,
  carrierCode: string,
  occurredAtMs: number,
  more: Partial<Outcome> = {},
): Outcome {
  const { messageId, claimId } = message;
  const plain = { messageId, claimId, kind, carrierCode, errorCode: "", retryAtMs: 0 };
  return { ...plain, occurredAtMs, ...more };
}
