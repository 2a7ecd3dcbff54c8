/**
 * Chooses the message of a receipt among the submissions with its id. A carrier of several nodes, or one whose
 * counter restarts, uses one id for several submits, so the id alone proves nothing (ADR 112).
 *
 * 1. The number decides. A receipt with a whole number of its own belongs to no submission with another one.
 * 2. A number that proves nothing (missing, garbled, masked) is believed when one message alone has the id.
 * 3. Several messages to one number: the time decides, then the order of the submits.
 */
import type { IncomingReceipt } from "./message.ts";
import { compareNumbers, type NumberFit } from "./same-number.ts";
import type { Submission } from "./submission.ts";

/** A submission with the facts that this process has about its receipts. */
export type Candidate = {
  readonly submission: Submission;
  /** This process made the submit and saw no final receipt of it. */
  readonly isOpen: boolean;
};

/** Carriers write the dates of receipts in whole minutes. */
const DATE_PRECISION_MS = 120_000;
/** Clocks of replicas differ, and an answer may come after its receipt. */
export const CLOCK_GRACE_MS = 60_000;

/**
 * Returns the submissions of the chosen message with the receipt's id: several when the carrier gave all its parts
 * one id, none when the receipt cannot be believed. `byKey` has the candidates of each key of the receipt, the
 * likeliest key first; an id in another notation may by chance belong to another message, so it counts only with
 * the number.
 */
export function chooseSubmissions(
  receipt: IncomingReceipt,
  byKey: readonly (readonly Candidate[])[],
  cameAtMs: number,
): readonly Submission[] {
  for (const fit of ["same", "likely"] as const) {
    for (const candidates of byKey) {
      const fitting = candidates.filter(({ submission }) => fitOf(receipt, submission) === fit);
      if (fitting.length === 0) continue;
      // A national form may be the end of two numbers.
      if (fit === "likely" && !hasOne(fitting, "to")) return [];
      return chooseByTime(receipt, fitting, cameAtMs);
    }
  }
  const open = receipt.to === "" ? byKey.flat() : (byKey[0] ?? []);
  const possible = open.filter(({ submission }) => fitOf(receipt, submission) === "possible");
  if (possible.length === 0 || !hasOne(possible, "messageId")) return [];
  return possible.map(({ submission }) => submission);
}

/** The fit of the receipt's number. Some carriers exchange the two addresses, or write our sender into both. */
export function fitOf(receipt: IncomingReceipt, { to, from }: Submission): NumberFit {
  if (receipt.to === to) return "same";
  // A handset can write the text of a receipt, but can send it only from its own number.
  if (receipt.isUnmarked === true) return "other";
  if (receipt.to !== from) return compareNumbers(receipt.to, to);
  return compareNumbers(receipt.from, to) === "same" ? "same" : "possible";
}

function chooseByTime(
  receipt: IncomingReceipt,
  fitting: readonly Candidate[],
  cameAtMs: number,
): readonly Submission[] {
  const messages = [...Map.groupBy(fitting, ({ submission }) => submission.messageId).values()];
  const chosen = messages.length === 1 ? messages[0] : chooseMessage(receipt, messages, cameAtMs);
  return (chosen ?? []).map(({ submission }) => submission);
}

type Message = readonly Candidate[];

/**
 * Leaves out messages that were submitted after the receipt came, or at another time than its dates say. Of the
 * others, receipts come in the order of the submits; a submit of which this process knows nothing has most likely
 * had its receipt, unless it is the newest.
 */
function chooseMessage(
  receipt: IncomingReceipt,
  messages: readonly Message[],
  cameAtMs: number,
): Message | undefined {
  const byAge = messages.toSorted((one, other) => timeOf(one) - timeOf(other));
  const earlier = byAge.filter((message) => timeOf(message) <= cameAtMs + CLOCK_GRACE_MS);
  const dated = nearDate(receipt, earlier, cameAtMs);
  return dated.find((message) => message.some(({ isOpen }) => isOpen)) ?? dated.at(-1);
}

/** The messages whose submit is nearest to the receipt's dates; the carrier's time zone does not matter. */
function nearDate(
  { tookMs }: IncomingReceipt,
  messages: readonly Message[],
  cameAtMs: number,
): readonly Message[] {
  if (tookMs === undefined) return messages;
  const distanceOf = (message: Message) => Math.abs(cameAtMs - tookMs - timeOf(message));
  const leastMs = Math.min(...messages.map(distanceOf));
  return messages.filter((message) => distanceOf(message) <= leastMs + DATE_PRECISION_MS);
}

function timeOf(message: Message): number {
  return Math.min(...message.map(({ submission }) => submission.atMs));
}

function hasOne(candidates: readonly Candidate[], field: "to" | "messageId"): boolean {
  return new Set(candidates.map(({ submission }) => submission[field])).size === 1;
}
