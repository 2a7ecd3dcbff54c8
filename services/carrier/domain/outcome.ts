/**
 * From what the carrier said to each part of a message to what became of the message.
 *
 * A doubt dominates: a message with one part in doubt is in doubt, unless one part was taken and another
 * is refused for good: whatever became of the rest, that message is sent and cannot arrive whole. A
 * message is accepted when every part is. Parts that were put off (throttled, not sent) leave the whole
 * message free to wait again only while no part has been accepted; after that the carrier finishes the
 * rest by itself.
 */
import type { ClaimedMessage, Outcome, OutcomeKind, PartOutcome } from "./message.ts";

/** System errors before the carrier's system counts as unable to take the message. */
export const TEMPORARY_MAX = 8;
const RETRY_BASE_MS = 250;
const RETRY_CAP_MS = 5000;

/** What to do after a round of submits. */
export type Verdict =
  /** Submit the parts at these places again, over any bind. */
  | { readonly kind: "again"; readonly parts: readonly number[] }
  | { readonly kind: "done"; readonly outcome: Outcome };

/**
 * Decides what a message's parts so far amount to; `parts` holds the newest outcome of each.
 * `putOffs` is how often the carrier has put the message off before, as far as that is known: it
 * makes the wait longer and ends nothing.
 */
export function judgeParts(
  message: ClaimedMessage,
  parts: readonly (PartOutcome | undefined)[],
  nowMs: number,
  putOffs = 0,
): Verdict {
  const doubt = parts.find((part) => part?.kind === "unknown");
  const accepted = parts.filter(isAccepted).length;
  const isCertainlyPartial = accepted > 0 && parts.some(isPermanentRefusal);
  if (doubt !== undefined && !isCertainlyPartial) {
    return done(message, "unknown", doubt.code, nowMs);
  }
  if (accepted === parts.length) return done(message, "accepted", "", nowMs);
  const refusal = parts.find((part) => isFinalRefusal(message, part));
  if (refusal !== undefined && refusal.kind === "refused") {
    return done(message, accepted > 0 ? "partly_refused" : "refused", refusal.code, nowMs, {
      errorCode: refusal.disposition === "permanent" ? "carrier_rejected" : "carrier_unavailable",
    });
  }
  if (accepted > 0) {
    return { kind: "again", parts: parts.flatMap((part, at) => (isAccepted(part) ? [] : [at])) };
  }
  const putOff = parts.find((part) => part !== undefined && part.kind !== "accepted");
  if (putOff?.kind !== "refused") {
    return done(message, "not_sent", putOff?.code ?? "", nowMs, { retryAtMs: nowMs });
  }
  return done(message, "not_sent", putOff.code, nowMs, {
    retryAtMs: nowMs + retryDelayMs(Math.max(message.attempt, putOffs)),
    errorCode: putOff.disposition === "temporary" ? "carrier_unavailable" : "",
  });
}

/** Whether the carrier certainly does not have a part: it was not submitted, or not taken. */
export function isWithout(part: PartOutcome | undefined): boolean {
  return part?.kind !== "accepted" && part?.kind !== "unknown";
}

/** What a message that was claimed and never submitted is reported as: to be claimed again at once, by any clock. */
export function returnToQueue(message: ClaimedMessage, code: string, nowMs: number): Outcome {
  return build(message, "not_sent", code, nowMs);
}

/** What a message ends as when its remaining parts could not be submitted in time. */
export function failRemainingParts(message: ClaimedMessage, code: string, nowMs: number): Outcome {
  return build(message, "partly_refused", code, nowMs);
}

/** The wait before the same submit is tried again: 250 ms, doubling, at most 5 s. */
export function retryDelayMs(attempt: number): number {
  return Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(attempt, 10));
}

function isAccepted(part: PartOutcome | undefined): boolean {
  return part?.kind === "accepted";
}

function isPermanentRefusal(part: PartOutcome | undefined): boolean {
  return part?.kind === "refused" && part.disposition === "permanent";
}

/** Throttling never uses up a message's patience; only its queue time ends that. */
function isFinalRefusal(message: ClaimedMessage, part: PartOutcome | undefined): boolean {
  if (isPermanentRefusal(part)) return true;
  if (part?.kind !== "refused") return false;
  return part.disposition === "temporary" && message.attempt + 1 >= TEMPORARY_MAX;
}

function done(
  message: ClaimedMessage,
  kind: OutcomeKind,
  code: string,
  nowMs: number,
  more: Partial<Outcome> = {},
): Verdict {
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
