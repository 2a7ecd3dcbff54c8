import type { ClaimedMessage, Outcome, PartOutcome } from "../domain/message.ts";
import { decideNextStep, failRemainingParts, isMissing } from "../domain/outcome.ts";
import { normalizeAddress } from "../domain/receipt.ts";
import { type Submission, segmentOfPart, type UnknownSubmission } from "../domain/submission.ts";
import type { Link, Part } from "./link.ts";

/** A claimed message whose submits have started. */
export type InFlight = {
  readonly message: ClaimedMessage;
  readonly connectorId: string;
  readonly parts: readonly Part[];
  /** Copied from the link, because a late answer may come when the link is gone. */
  readonly keyOf: Link["keyOf"];
  /** The newest outcome of each part. */
  readonly outcomes: (PartOutcome | undefined)[];
  readonly submissions: Submission[];
  /** When the message ended in doubt: its parts without a carrier id. */
  unknowns: readonly UnknownSubmission[];
  /** When its parts began to go out, by the steady clock. */
  startedAtMs: number;
  /** The parts that the journal has: octets of them may have left. */
  readonly written: Set<number>;
  /** Resolves when messaging knows the outcome. */
  readonly reported: Promise<void>;
  readonly markReported: () => void;
};

/** Prepares a message for a link. Throws when the link cannot encode it. */
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
    written: new Set(),
    reported,
    markReported,
  };
}

/** The first part is in doubt, and the others were not submitted. */
export function isFirstAloneInDoubt({ outcomes }: InFlight): boolean {
  const [first, ...others] = outcomes;
  return first?.kind === "unknown" && others.length > 0 && others.every((one) => one === undefined);
}

/** Notes that the carrier has the first part: a receipt proved it, or another part was submitted after it. */
export function proveFirstPart(flight: InFlight): void {
  if (flight.outcomes[0]?.kind !== "unknown") return;
  // With an empty id the part would count as accepted without an id.
  flight.outcomes[0] = { kind: "accepted", carrierMessageId: "proven" };
}

/** Records a part's outcome; returns the submission when the carrier accepted the part with an id. */
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
    ...submissionOf(flight, part.index, hasSingleReceipt, nowMs),
    key: flight.keyOf(outcome.carrierMessageId),
  };
  flight.submissions.push(submission);
  return submission;
}

/** The parts without a carrier id: in doubt, or accepted by a carrier that gave no id. */
export function unknownsOf(
  flight: InFlight,
  hasSingleReceipt: boolean,
  nowMs: number,
): UnknownSubmission[] {
  return flight.outcomes.flatMap((outcome, index) => {
    const isUnnamed = outcome?.kind === "accepted" && outcome.carrierMessageId === "";
    if (outcome?.kind !== "unknown" && !isUnnamed) return [];
    const unknown = submissionOf(flight, index, hasSingleReceipt, nowMs);
    return [isUnnamed ? { ...unknown, isTaken: true } : unknown];
  });
}

/** Marks a message in doubt as incomplete when the carrier certainly lacks some of its parts (ADR 93). */
export function withMissing(outcome: Outcome, { outcomes }: InFlight): Outcome {
  const isIncomplete = outcome.kind === "unknown" && outcomes.some(isMissing);
  return isIncomplete ? { ...outcome, isIncomplete } : outcome;
}

/**
 * The outcome of a message after a late answer; undefined while it is still in doubt. Messaging already has it as
 * in doubt and may have failed it, so parts that were never accepted are not submitted any more: a partly accepted
 * message ends as `partly_refused`, with the ids of the accepted parts.
 */
export function applyLateResponse(flight: InFlight, nowMs: number): Outcome | undefined {
  const next = decideNextStep(flight.message, flight.outcomes, nowMs);
  if (next.kind === "again") return failRemainingParts(flight.message, "parts_not_taken", nowMs);
  return next.outcome.kind === "unknown" ? undefined : next.outcome;
}

function submissionOf(
  { message, connectorId, parts }: InFlight,
  index: number,
  hasSingleReceipt: boolean,
  nowMs: number,
): UnknownSubmission {
  return {
    connectorId,
    messageId: message.messageId,
    ...segmentOfPart(index, parts.length, hasSingleReceipt),
    to: normalizeAddress(message.to),
    from: normalizeAddress(message.from),
    atMs: nowMs,
  };
}
