/**
 * What a delivery receipt makes of a message. Receipts aggregate over the parts that it travels in,
 * which are its segments unless the connector's charset makes more of it, and the worst
 * wins: all delivered makes `delivered`, any failure makes `undelivered` at once. A segment once
 * delivered stays so; one that failed may still be delivered late.
 *
 * A receipt for a `queued` message is proof that the carrier has it, whatever its submit's answer
 * was: it becomes `sent` first, then what the receipt says. A receipt of one part proves nothing
 * about others that are still being submitted: it is kept, and the message is `sent` when its outcome
 * comes, or when every part has been heard of. Receipts in any order, repeated or
 * late, lead to the same end once every segment has been heard of; nothing leaves `delivered`,
 * `failed` or `cancelled`.
 */

import { undeliveredCode } from "./failure-reasons.ts";
import {
  currentRoute,
  type Decision,
  type FrozenRoute,
  type KnownPart,
  type Message,
  moveTo,
  type SegmentReceipts,
  unchanged,
} from "./message.ts";
import { type Timeouts, toSent, withoutMissing } from "./queue-transitions.ts";

/** What a carrier says about a message or one of its segments. */
export type Receipt = {
  /** Counted from 1; 0 means the whole message. */
  readonly segment: number;
  /** How many there are to be heard of; as many as the message has segments unless told. */
  readonly parts?: number;
  /** The carrier named no segment: should this one have been heard of, it is the next that has not. */
  readonly isSegmentGuessed?: boolean;
  /** By which connector it came, where nothing else ties it to that connector's submit; empty otherwise. */
  readonly connectorId?: string;
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
  known: Message,
  receipt: Receipt,
  nowMs: number,
  timeouts: Timeouts,
): Decision {
  const { status } = known;
  if (
    status !== "queued" &&
    status !== "sent" &&
    status !== "undelivered" &&
    status !== "expired"
  ) {
    return unchanged(known);
  }
  if (isAnothers(known, receipt)) return unchanged(known);
  const message = asCarriedBy(known, receipt);
  // A carrier's clock is its own: an instant outside the message's life is not believed.
  const sinceMs = message.history.at(-1)?.atMs ?? nowMs;
  const claimedMs = receipt.occurredAtMs;
  const occurredMs = claimedMs >= sinceMs && claimedMs <= nowMs ? claimedMs : nowMs;
  const receipts = addReceipt(message.receipts, receipt, allParts(message, receipt));
  if (isOnItsWay(message, receipt, receipts)) {
    const { delivered, isTaken = false } = message.receipts;
    const isKnown = isTaken && receipts.delivered === delivered;
    return unchanged(isKnown ? message : { ...message, receipts: { ...receipts, isTaken: true } });
  }
  const sent = status === "queued" ? toSent(message, occurredMs, timeouts) : unchanged(message);
  if (receipt.state === "acknowledged" && !receipts.isIncomplete) return sent;
  return settle(sent, receipt, receipts, occurredMs);
}

/**
 * Whether it is word of a carrier that the message has left meanwhile. That one did not take it, so what it says of
 * the message's fate is no news, unless the handset has it.
 */
function isAnothers(message: Message, { connectorId = "", state }: Receipt): boolean {
  if (connectorId === "" || state === "delivered") return false;
  return currentRoute(message)?.connectorId !== connectorId;
}

/**
 * The message as the carrier had it whose word this is, whole and at that one's frozen route and price: it
 * may have moved on since, and the route that carried it is the one that is charged.
 */
function asCarriedBy(message: Message, { connectorId = "" }: Receipt): Message {
  if (connectorId === "" || currentRoute(message)?.connectorId === connectorId) return message;
  const isIts = (route: FrozenRoute) => route.connectorId === connectorId;
  const left = message.routes.slice(0, message.routeAt).findLastIndex(isIts);
  // One that was overtaken stands behind the present one.
  const routeAt = left >= 0 ? left : message.routes.findIndex(isIts);
  const receipts = withoutMissing(message.receipts);
  return { ...message, receipts, routeAt: routeAt < 0 ? message.routeAt : routeAt };
}

/** Whether other parts may still have to be submitted, of which a receipt of this one says nothing. */
function isOnItsWay(message: Message, receipt: Receipt, receipts: SegmentReceipts): boolean {
  const all = allParts(message, receipt);
  if (message.phase !== "sending" || receipt.segment === 0 || all === 1) return false;
  // One that failed decides about the whole, however the others fare.
  return receipts.failed === 0 && (receipts.delivered & all) !== all;
}

/** All parts that are to be heard of, one bit each. */
function allParts(message: Message, receipt: Receipt): number {
  return 2 ** (receipt.parts || message.segments) - 1;
}

function settle(
  decision: Decision,
  receipt: Receipt,
  receipts: SegmentReceipts,
  occurredMs: number,
): Decision {
  const before = decision.message;
  const all = allParts(before, receipt);
  const facts: Partial<Message> = {
    receipts,
    ...(receipt.carrierCode === "" ? {} : { carrierCode: receipt.carrierCode }),
  };
  if ((receipts.delivered & all) === all) {
    return moveTo(decision, "delivered", occurredMs, undefined, facts);
  }
  if (receipts.isIncomplete && before.status === "sent") {
    return moveTo(decision, "undelivered", occurredMs, "carrier_rejected", facts);
  }
  if (receipts.failed !== 0 && before.status !== "undelivered") {
    const code = undeliveredCode(receipt.errorCode);
    return moveTo(decision, "undelivered", occurredMs, code, facts);
  }
  const { delivered, failed } = before.receipts;
  if (receipts.delivered === delivered && receipts.failed === failed) return decision;
  return { message: { ...before, receipts }, events: decision.events };
}

/** More submits of one message than this are not told apart. */
const PARTS_MAX = 32;

function addReceipt(known: SegmentReceipts, receipt: Receipt, all: number): SegmentReceipts {
  // What is said of the whole is said of the parts that the carrier has.
  if (receipt.segment === 0) return known.isIncomplete ? known : count(known, receipt.state, all);
  const part = partOf(known, receipt, all);
  const counted = count(known, receipt.state, bitOf(part.segment, all));
  const { parts = [] } = known;
  const isNew = part.key !== "" && !parts.includes(part) && parts.length < PARTS_MAX;
  return isNew ? { ...counted, parts: [...parts, part] } : counted;
}

/** Counts for some segments, one bit each. */
function count(known: SegmentReceipts, state: Receipt["state"], named: number): SegmentReceipts {
  const delivered = state === "delivered" ? known.delivered | named : known.delivered;
  const failed = state === "undelivered" ? known.failed | named : known.failed;
  return { ...known, delivered, failed: failed & ~delivered };
}

/**
 * The submit that a receipt is about, with the segment that it counts for. That holds for all receipts of
 * the submit: one that comes again counts for nothing more, even if its carrier process has died
 * meanwhile and could only guess this time. Where a guess was wrong, the submit whose segment it
 * took gets the place that is left.
 */
function partOf(known: SegmentReceipts, receipt: Receipt, all: number): KnownPart {
  const { segment, partKey: key = "", isSegmentGuessed = false } = receipt;
  const { parts = [] } = known;
  const before = key === "" ? undefined : parts.find((part) => part.key === key);
  if (before !== undefined) return before;
  const ended = known.delivered | known.failed;
  // A submit that is only under way has its segment, too, as long as there is another.
  const named = parts.reduce((bits, part) => bits | bitOf(part.segment, all), 0);
  const heard = ended | named;
  const unheard = all & ~heard || all & ~ended;
  const isFree = (heard & bitOf(segment, all)) === 0;
  const isMovable =
    isSegmentGuessed || parts.some((part) => part.segment === segment && part.guessed);
  if (isFree || !isMovable || unheard === 0) {
    return { key, segment, ...(isSegmentGuessed && isFree ? { guessed: true } : {}) };
  }
  // The lowest bit that is set.
  return { key, segment: Math.log2(unheard & -unheard) + 1, guessed: true };
}

function bitOf(segment: number, all: number): number {
  // Shifts go by the remainder of 32: segment 33 would be segment 1.
  if (segment < 1 || segment > 31) return 0;
  return (1 << (segment - 1)) & all;
}
