/**
 * Applies a delivery receipt to a message (`docs/contract.md#statuses`). A message travels in parts: its segments, or
 * more where the connector's charset needs them. The worst receipt wins: all parts delivered makes `delivered`, any
 * failure makes `undelivered` at once. A delivered segment stays delivered; a failed one may be delivered late.
 *
 * A receipt for a `queued` message proves that the carrier has it, independent of the response to its submit: the
 * message becomes `sent` first, then the receipt applies. A receipt of one part proves nothing about parts that are
 * still being submitted: it is stored, and the message becomes `sent` with its outcome or with the receipt of the
 * last part. Receipts in any order, repeated or late, lead to the same status once every segment has one. No receipt
 * changes `delivered`, `failed` or `cancelled`.
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

/** A carrier's report about a message or one of its segments. */
export type Receipt = {
  /** Counted from 1; 0 means the whole message. */
  readonly segment: number;
  /** The number of parts; the number of segments if unset. */
  readonly parts?: number;
  /**
   * The carrier named no segment: if `segment` has a receipt, use the first segment without one. In a receipt for the
   * whole message: the carrier gave all its parts one id, and parts that failed by their own receipts stay failed.
   */
  readonly isSegmentGuessed?: boolean;
  /** The connector that delivered the receipt, if nothing else links it to a submit; else empty. */
  readonly connectorId?: string;
  /** Identifies a submit of the message; empty if unknown. */
  readonly partKey?: string;
  readonly state: "delivered" | "undelivered" | "acknowledged";
  /** Our code for the state `undelivered`. */
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
  if (isFromLeftConnector(known, receipt)) return unchanged(known);
  const message = asCarriedBy(known, receipt);
  // The carrier's clock may be wrong: ignore an instant outside the message's life.
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
  return applyCounts(sent, receipt, receipts, occurredMs);
}

/**
 * True if the receipt is of a connector that the message has left. That carrier did not accept the message, so only
 * a receipt of delivery counts.
 */
function isFromLeftConnector(message: Message, { connectorId = "", state }: Receipt): boolean {
  if (connectorId === "" || state === "delivered") return false;
  return currentRoute(message)?.connectorId !== connectorId;
}

/**
 * The message over the route of the receipt's connector. The message may have moved to another route since; the
 * route that carried it is charged.
 */
function asCarriedBy(message: Message, { connectorId = "" }: Receipt): Message {
  if (connectorId === "" || currentRoute(message)?.connectorId === connectorId) return message;
  const isIts = (route: FrozenRoute) => route.connectorId === connectorId;
  const left = message.routes.slice(0, message.routeAt).findLastIndex(isIts);
  // A route that was passed over without an attempt comes after the current route.
  const routeAt = left >= 0 ? left : message.routes.findIndex(isIts);
  const receipts = withoutMissing(message.receipts);
  return { ...message, receipts, routeAt: routeAt < 0 ? message.routeAt : routeAt };
}

/** True if other parts may still be submitted; a receipt of this part says nothing about them. */
function isOnItsWay(message: Message, receipt: Receipt, receipts: SegmentReceipts): boolean {
  const all = allParts(message, receipt);
  if (message.phase !== "sending" || receipt.segment === 0 || all === 1) return false;
  // A failed part decides about the whole message.
  return receipts.failed === 0 && (receipts.delivered & all) !== all;
}

/** All parts, one bit each. */
function allParts(message: Message, receipt: Receipt): number {
  return 2 ** (receipt.parts || message.segments) - 1;
}

function applyCounts(
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

/** The number of submits of one message that are stored by key. */
const PARTS_MAX = 32;

function addReceipt(known: SegmentReceipts, receipt: Receipt, all: number): SegmentReceipts {
  // A receipt of the whole message counts for the parts that the carrier has.
  if (receipt.segment === 0) {
    const counted = receipt.isSegmentGuessed ? all & ~known.failed : all;
    return known.isIncomplete ? known : count(known, receipt.state, counted);
  }
  const part = partOf(known, receipt, all);
  const counted = count(known, receipt.state, bitOf(part.segment, all));
  const { parts = [] } = known;
  const isNew = part.key !== "" && !parts.includes(part) && parts.length < PARTS_MAX;
  return isNew ? { ...counted, parts: [...parts, part] } : counted;
}

/** Counts a receipt for some segments, one bit each. */
function count(known: SegmentReceipts, state: Receipt["state"], named: number): SegmentReceipts {
  const delivered = state === "delivered" ? known.delivered | named : known.delivered;
  const failed = state === "undelivered" ? known.failed | named : known.failed;
  return { ...known, delivered, failed: failed & ~delivered };
}

/**
 * The submit of a receipt, with its segment, which is the same for all receipts of the submit. So a repeated receipt
 * counts once, even if its carrier has restarted and had to guess the segment. If a guess took the segment of
 * another submit, that submit gets the remaining one.
 */
function partOf(known: SegmentReceipts, receipt: Receipt, all: number): KnownPart {
  const { segment, partKey: key = "", isSegmentGuessed = false } = receipt;
  const { parts = [] } = known;
  const before = key === "" ? undefined : parts.find((part) => part.key === key);
  if (before !== undefined) return before;
  const ended = known.delivered | known.failed;
  // A submit without a final receipt keeps its segment while another one is free.
  const named = parts.reduce((bits, part) => bits | bitOf(part.segment, all), 0);
  const taken = ended | named;
  const open = all & ~taken || all & ~ended;
  const isFree = (taken & bitOf(segment, all)) === 0;
  const isMovable =
    isSegmentGuessed || parts.some((part) => part.segment === segment && part.guessed);
  if (isFree || !isMovable || open === 0) {
    return { key, segment, ...(isSegmentGuessed && isFree ? { guessed: true } : {}) };
  }
  // The lowest bit that is set.
  return { key, segment: Math.log2(open & -open) + 1, guessed: true };
}

function bitOf(segment: number, all: number): number {
  // Shifts go by the remainder of 32: segment 33 would be segment 1.
  if (segment < 1 || segment > 31) return 0;
  return (1 << (segment - 1)) & all;
}
