/** What a message's status asks of the ledger; pure, so that the table can be tested whole. */
import { type Charge, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../shared/core/money.ts";

/** What is wrong between a message and its settlement, if anything. */
export type Verdict =
  | { readonly kind: "good" }
  /** Not settled yet, and not late either. */
  | { readonly kind: "pending" }
  | { readonly kind: "breach"; readonly invariant: number; readonly what: string };

/** The promise of the contract: settled within about a minute of the change. */
export const SETTLEMENT_PROMISE_MS = 60_000;

const GOOD: Verdict = { kind: "good" };

const CHARGED = new Set([
  MessageStatus.SENT,
  MessageStatus.DELIVERED,
  MessageStatus.UNDELIVERED,
  MessageStatus.EXPIRED,
]);

const RELEASED = new Set([MessageStatus.FAILED, MessageStatus.CANCELLED]);

/** Judges one message that had a hold against its settlement. */
export function judge(charge: Charge, settlement: Settlement | undefined, nowMs: number): Verdict {
  if (charge.reservationId === "") {
    return settlement === undefined ? GOOD : breach(2, "settled, but it never had a hold");
  }
  const isCharged = CHARGED.has(charge.status);
  if (!isCharged && !RELEASED.has(charge.status)) {
    return settlement === undefined
      ? { kind: "pending" }
      : breach(2, "settled before it was sent, failed or cancelled");
  }
  if (settlement === undefined) {
    const isLate = nowMs - Number(charge.updatedAtMs) > SETTLEMENT_PROMISE_MS;
    return isLate ? breach(2, "not settled a minute after its change") : { kind: "pending" };
  }
  if (settlement.reservationId !== charge.reservationId) {
    return breach(2, "settled out of another reservation");
  }
  if (settlement.heldAmount !== charge.heldAmount) {
    const settled = formatAmount(settlement.heldAmount);
    return breach(2, `settled ${settled} where ${formatAmount(charge.heldAmount)} was held`);
  }
  if (settlement.capturedAmount > charge.heldAmount)
    return breach(2, "captured more than was held");
  const wanted = isCharged ? (charge.amount ?? 0n) : 0n;
  if (settlement.capturedAmount !== wanted) {
    const captured = formatAmount(settlement.capturedAmount);
    return breach(2, `captured ${captured} where ${formatAmount(wanted)} was due`);
  }
  return GOOD;
}

function breach(invariant: number, what: string): Verdict {
  return { kind: "breach", invariant, what };
}
