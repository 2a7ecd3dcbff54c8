/**
 * What the result of a submit makes of a message. The message must be `queued` under the very
 * claim the outcome names; anything else is stale and changes nothing.
 *
 * | outcome          | the message becomes                                                    |
 * | ---------------- | ---------------------------------------------------------------------- |
 * | accepted         | `sent`, charged the route's frozen price                               |
 * | refused          | waiting for the next route that is left, or `failed` when there is none      |
 * | not_sent         | waiting again, in its old place; only a system error spends budget     |
 * | unknown          | in doubt: never sent again, waits for proof (see `due.ts` for the end) |
 * | partly_refused   | `sent`, then `undelivered` with `carrier_rejected`; the charge stays   |
 *
 * In doubt, with parts that were not submitted, it goes the way of `partly_refused` when a receipt proves the others.
 * A receipt may have made the message `sent` before its other parts were refused. It then goes the
 * rest of that way: `undelivered`, and charged no second time. A message of which the carrier
 * has shown to have a part is `sent` by every other outcome.
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

/** No carrier asks for more than some seconds, and nothing is put off until its queue time is over. */
const PUT_OFF_MAX_MS = 60_000;

/** What a carrier says became of a claimed message. */
export type Outcome = {
  readonly claimId: string;
  readonly kind: "accepted" | "refused" | "not_sent" | "unknown" | "partly_refused";
  readonly carrierCode: string;
  /** For not_sent: not to be claimed again before this instant, by the clock of `occurredAtMs`. 0 means at once. */
  readonly retryAtMs: number;
  /** 0 where it was not told. */
  readonly occurredAtMs: number;
  /**
   * For refused: our code when the carrier's maps to one, else empty. For not_sent
   * `carrier_unavailable` when the carrier's system failed.
   */
  readonly errorCode: string;
  /** For unknown: some parts were not submitted and will not be. */
  readonly isIncomplete?: boolean;
};

/** The decision, and whether the outcome came too late to mean anything. */
export type OutcomeDecision = Decision & { readonly isStale: boolean };

/** Applies one outcome. Repeating it after its answer was lost is harmless. */
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
  // Resolved under this very claim, by this outcome's first copy or by a receipt.
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
  // What the carrier has shown to have, it cannot have refused, nor left in doubt; nobody else may send it.
  if (isPartTaken(message)) {
    const sent = toSent(message, occurredMs, timeouts, facts);
    return cannotBeWhole(outcome) ? toPartlyRefused(sent, outcome, nowMs) : sent;
  }
  switch (outcome.kind) {
    case "accepted":
      return toSent(message, occurredMs, timeouts, facts);
    case "refused":
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
        notBeforeMs: putOffUntil(outcome, nowMs),
      });
    case "unknown":
      // A repeat must not postpone the end of the wait.
      if (message.phase === "unknown") return unchanged(message);
      return toUnknown(message, nowMs, timeouts, outcome.isIncomplete ? incomplete(message) : {});
    case "partly_refused":
      return toPartlyRefused(toSent(message, occurredMs, timeouts, facts), outcome, nowMs);
  }
}

function toPartlyRefused(sent: Decision, outcome: Outcome, nowMs: number): Decision {
  const occurredMs = occurredAt(outcome, nowMs);
  const facts = { ...factsOf(outcome), ...incomplete(sent.message) };
  return moveTo(sent, "undelivered", occurredMs, "carrier_rejected", facts);
}

/** No receipt of the parts that were taken makes it delivered. */
function incomplete({ receipts }: Message): Partial<Message> {
  return { receipts: { ...receipts, isIncomplete: true } };
}

/** Whether parts were refused or not submitted, and others taken, as far as it is known that they were. */
function cannotBeWhole({ kind, isIncomplete = false }: Outcome): boolean {
  return kind === "partly_refused" || isIncomplete;
}

/** Both instants are of the carrier process's clock, so what lies between them is the wait it asks for. */
function putOffUntil({ retryAtMs, occurredAtMs }: Outcome, nowMs: number): number {
  const waitMs = retryAtMs - (occurredAtMs || nowMs);
  return waitMs > 0 ? nowMs + Math.min(waitMs, PUT_OFF_MAX_MS) : 0;
}

/** A carrier process's clock is its own: what it dates into the future happened now. */
function occurredAt(outcome: Outcome, nowMs: number): number {
  return Math.min(outcome.occurredAtMs || nowMs, nowMs);
}

function factsOf({ carrierCode }: Outcome): Partial<Message> {
  return carrierCode === "" ? {} : { carrierCode };
}
