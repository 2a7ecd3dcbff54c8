import type { Link, Part } from "../adapters/links/link.ts";
import type { ClaimedMessage, Outcome, PartOutcome } from "../domain/message.ts";
import { failRemainingParts, isWithout, judgeParts } from "../domain/outcome.ts";
import { normalizeAddress } from "../domain/receipt.ts";
import { placeOfPart, type Submission, type UnknownSubmission } from "../domain/submission.ts";

/** A claimed message on its way through a link. */
export type InFlight = {
  readonly message: ClaimedMessage;
  readonly connectorId: string;
  readonly parts: readonly Part[];
  /** Its link's; a late answer may come when the link is given up already. */
  readonly keyOf: Link["keyOf"];
  /** The newest outcome of each part. */
  readonly outcomes: (PartOutcome | undefined)[];
  readonly submissions: Submission[];
  /** Its parts without an id of their own when it ended in doubt. */
  unknowns: readonly UnknownSubmission[];
  /** By the steady clock. */
  readonly startedAtMs: number;
  /** Its first octet may have left. */
  isJournaled: boolean;
  /** Resolves when messaging knows the outcome. */
  readonly reported: Promise<void>;
  readonly markReported: () => void;
};

/** Begins a message's way. Throws when the link cannot carry it at all. */
export function startInFlight(
  message: ClaimedMessage,
  connectorId: string,
  link: Link,
  startedAtMs: number,
): InFlight {
  const parts = link.prepare(message);
  const { promise: reported, resolve: markReported } = Promise.withResolvers<void>();
  return {
    message,
    connectorId,
    parts,
    keyOf: link.keyOf,
    outcomes: new Array<PartOutcome | undefined>(parts.length).fill(undefined),
    submissions: [],
    unknowns: [],
    startedAtMs,
    isJournaled: false,
    reported,
    markReported,
  };
}

/** Notes a part's outcome; answers the submission when the carrier took it under an id. */
export function noteOutcome(
  flight: InFlight,
  part: Part,
  outcome: PartOutcome,
  hasSingleReceipt: boolean,
  nowMs: number,
): Submission | undefined {
  flight.outcomes[part.index] = outcome;
  if (outcome.kind !== "accepted" || outcome.carrierMessageId === "") return undefined;
  const submission: Submission = {
    ...place(flight, part.index, hasSingleReceipt, nowMs),
    key: flight.keyOf(outcome.carrierMessageId),
  };
  flight.submissions.push(submission);
  return submission;
}

/** The parts without an id of their own: in doubt, or taken by a carrier that gave none. */
export function unknownsOf(
  flight: InFlight,
  hasSingleReceipt: boolean,
  nowMs: number,
): UnknownSubmission[] {
  return flight.outcomes.flatMap((outcome, index) => {
    const isUnnamed = outcome?.kind === "accepted" && outcome.carrierMessageId === "";
    if (outcome?.kind !== "unknown" && !isUnnamed) return [];
    const unknown = place(flight, index, hasSingleReceipt, nowMs);
    return [isUnnamed ? { ...unknown, isTaken: true } : unknown];
  });
}

/** The outcome of a message in doubt says whether parts of it are missing at the carrier for certain. */
export function withMissing(outcome: Outcome, { outcomes }: InFlight): Outcome {
  const isIncomplete = outcome.kind === "unknown" && outcomes.some(isWithout);
  return isIncomplete ? { ...outcome, isIncomplete } : outcome;
}

/**
 * What the message ends as now that a late answer is known; undefined while it is still in doubt. It was
 * reported in doubt and messaging may have failed it since, so parts that were never taken are not
 * submitted any more: a message that was taken in part ends as that, with the ids of what was taken.
 */
export function applyLateResponse(flight: InFlight, nowMs: number): Outcome | undefined {
  const verdict = judgeParts(flight.message, flight.outcomes, nowMs);
  if (verdict.kind === "again") return failRemainingParts(flight.message, "parts_not_taken", nowMs);
  return verdict.outcome.kind === "unknown" ? undefined : verdict.outcome;
}

function place(
  { message, connectorId, parts }: InFlight,
  index: number,
  hasSingleReceipt: boolean,
  nowMs: number,
): UnknownSubmission {
  return {
    connectorId,
    messageId: message.messageId,
    ...placeOfPart(index, parts.length, hasSingleReceipt),
    to: normalizeAddress(message.to),
    from: normalizeAddress(message.from),
    atMs: nowMs,
  };
}
