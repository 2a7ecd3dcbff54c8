/** The settlement that each message status requires. Pure, so that a test covers the whole table. */
import { type Charge, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../shared/core/money.ts";

/** The result of comparing a message with its settlement. */
export type ChargeResult =
  | { readonly kind: "good" }
  /** Not settled yet, and not late. */
  | { readonly kind: "pending" }
  | { readonly kind: "breach"; readonly invariant: number; readonly what: string };

/** A message is settled within about a minute of its change: docs/contract.md#money. */
export const SETTLEMENT_PROMISE_MS = 60_000;

const GOOD: ChargeResult = { kind: "good" };

const CHARGED = new Set([
  MessageStatus.SENT,
  MessageStatus.DELIVERED,
  MessageStatus.UNDELIVERED,
  MessageStatus.EXPIRED,
]);

const RELEASED = new Set([MessageStatus.FAILED, MessageStatus.CANCELLED]);

/** Compares one message that had a hold with its settlement. */
export function checkCharge(
  charge: Charge,
  settlement: Settlement | undefined,
  nowMs: number,
): ChargeResult {
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

function breach(invariant: number, what: string): ChargeResult {
  return { kind: "breach", invariant, what };
}
