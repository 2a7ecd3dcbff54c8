/**
 * What a delivery receipt makes of a message. Receipts aggregate over segments, and the worst
 * wins: all delivered makes `delivered`, any failure makes `undelivered` at once. A segment once
 * delivered stays so; one that failed may still be delivered late.
 *
 * A receipt for a `queued` message is proof that the carrier has it, whatever its submit's answer
 * was: it becomes `sent` first, then what the receipt says. Receipts in any order, repeated or
 * late, lead to the same end; nothing leaves `delivered`, `failed` or `cancelled`.
 */
import {
  type Decision,
  type Message,
  moveTo,
  type SegmentGuess,
  type SegmentReceipts,
  unchanged,
} from "./message.ts";
import { toSent, type Waits } from "./queueing.ts";
import { undeliveredCode } from "./reasons.ts";

/** What a carrier says about a message or one of its segments. */
export type Receipt = {
  /** Counted from 1; 0 means the whole message. */
  readonly segment: number;
  /** The carrier named no segment: should this one have been heard of, it is the next that has not. */
  readonly isSegmentGuessed?: boolean;
  /** Tells submits of one message apart; empty when nothing does. */
  readonly partKey?: string;
  readonly state: "delivered" | "undelivered" | "acknowledged";
  /** Our code for undelivered. */
  readonly errorCode: string;
  readonly carrierCode: string;
  readonly occurredAtMs: number;
};

/** Applies one receipt. */
export function applyReceipt(
  message: Message,
  receipt: Receipt,
  nowMs: number,
  waits: Waits,
): Decision {
  const { status } = message;
  if (
    status !== "queued" &&
    status !== "sent" &&
    status !== "undelivered" &&
    status !== "expired"
  ) {
    return unchanged(message);
  }
  // A carrier's clock is its own: an instant outside the message's life is not believed.
  const sinceMs = message.history.at(-1)?.atMs ?? nowMs;
  const claimedMs = receipt.occurredAtMs;
  const occurredMs = claimedMs >= sinceMs && claimedMs <= nowMs ? claimedMs : nowMs;
  const sent = status === "queued" ? toSent(message, occurredMs, waits) : unchanged(message);
  if (receipt.state === "acknowledged") return sent;
  return settle(sent, receipt, occurredMs);
}

function settle(decision: Decision, receipt: Receipt, occurredMs: number): Decision {
  const before = decision.message;
  const all = (1 << before.segments) - 1;
  const receipts = addReceipt(before.receipts, receipt, all);
  const facts: Partial<Message> = {
    receipts,
    ...(receipt.carrierCode === "" ? {} : { carrierCode: receipt.carrierCode }),
  };
  if (receipts.delivered === all) {
    return moveTo(decision, "delivered", occurredMs, undefined, facts);
  }
  if (receipts.failed !== 0 && before.status !== "undelivered") {
    const code = undeliveredCode(receipt.errorCode);
    return moveTo(decision, "undelivered", occurredMs, code, facts);
  }
  const { delivered, failed } = before.receipts;
  if (receipts.delivered === delivered && receipts.failed === failed) return decision;
  return { message: { ...before, receipts }, events: decision.events };
}

function addReceipt(known: SegmentReceipts, receipt: Receipt, all: number): SegmentReceipts {
  const { named, guesses } = namedSegments(known, receipt, all);
  const delivered = receipt.state === "delivered" ? known.delivered | named : known.delivered;
  const failed = receipt.state === "undelivered" ? known.failed | named : known.failed;
  const counted = { delivered, failed: failed & ~delivered };
  return guesses.length === 0 ? counted : { ...counted, guesses };
}

type Named = {
  /** The segments that a receipt speaks of, one bit each. */
  readonly named: number;
  readonly guesses: readonly SegmentGuess[];
};

/**
 * A guess holds for all receipts of its submit, so that one that comes again counts for nothing more. Where
 * it was wrong, the submit that the segment belongs to takes the place that the other one leaves.
 */
function namedSegments(known: SegmentReceipts, receipt: Receipt, all: number): Named {
  const { segment, partKey = "", isSegmentGuessed = false } = receipt;
  const { guesses = [] } = known;
  if (segment === 0) return { named: all, guesses };
  const before = partKey === "" ? undefined : guesses.find(({ key }) => key === partKey);
  if (before !== undefined) return { named: bitOf(before.segment, all), guesses };
  const heard = known.delivered | known.failed;
  const unheard = all & ~heard;
  const isTaken = isSegmentGuessed || guesses.some((guess) => guess.segment === segment);
  const isMoved = isTaken && unheard !== 0 && (heard & bitOf(segment, all)) !== 0;
  // The lowest bit that is set.
  const counted = isMoved ? Math.log2(unheard & -unheard) + 1 : segment;
  const named = bitOf(counted, all);
  // Of segments not heard of before, so there are never more guesses than segments.
  const isGuess = partKey !== "" && (isSegmentGuessed || isMoved) && (heard & named) === 0;
  return { named, guesses: isGuess ? [...guesses, { key: partKey, segment: counted }] : guesses };
}

function bitOf(segment: number, all: number): number {
  return (1 << (segment - 1)) & all;
}
