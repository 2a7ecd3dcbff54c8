/**
 * Checks reservations against settlements. Both come ordered by reservation id, so they are merged
 * in constant memory, whatever their number.
 */
import { formatAmount } from "../../shared/core/money.ts";
import { type Breach, partText } from "./check-ledger.ts";
import { addItem, emptyFingerprint, type Fingerprint } from "./fingerprint.ts";
import type { Reservation, Settlement } from "./reservation.ts";

/** What the check reads of a reservation. */
export type CheckedReservation = Omit<
  Reservation,
  "firstMessageId" | "lastMessageId" | "createdAtMs"
>;

/** What the check reads of a settlement. */
export type CheckedSettlement = Omit<Settlement, "settledAtMs">;

/** What one tenant's reservations and settlements come to. */
export type HoldSum = { open: bigint; readonly parts: Fingerprint };

/** Sums by tenant. */
export type HoldSums = Map<string, HoldSum>;

/** The sum of a tenant, made when it is first asked for. */
export function holdSum(sums: HoldSums, tenantId: string): HoldSum {
  let sum = sums.get(tenantId);
  if (sum === undefined) {
    sum = { open: 0n, parts: emptyFingerprint() };
    sums.set(tenantId, sum);
  }
  return sum;
}

/** Checks one reservation with all its settlements, and adds them to its tenant's sum. */
export function checkReservation(
  sums: HoldSums,
  reservation: CheckedReservation,
  settlements: readonly CheckedSettlement[],
): Breach[] {
  const breaches: Breach[] = [];
  const { id, tenantId, amount, openAmount, fencedAmount } = reservation;
  const breach = (invariant: number, what: string, ...ids: string[]) =>
    void breaches.push({ invariant, what, ids: [id, ...ids] });

  const sum = holdSum(sums, tenantId);
  sum.open += openAmount;
  for (const part of reservationParts(reservation)) addItem(sum.parts, part);
  let settled = 0n;
  for (const settlement of settlements) {
    const { messageId, heldAmount, capturedAmount } = settlement;
    settled += heldAmount;
    if (settlement.tenantId !== tenantId) breach(9, "settled by another tenant", messageId);
    if (capturedAmount < 0n || capturedAmount > heldAmount) {
      breach(2, "captured more than was held", messageId);
    }
    for (const part of settlementParts(settlement)) addItem(sum.parts, part);
  }
  if (openAmount < 0n) breach(1, "less than nothing is open");
  if (openAmount + fencedAmount + settled !== amount) {
    const parts = [`${formatAmount(openAmount)} open`, `${formatAmount(settled)} settled`];
    const sum = [...parts, `${formatAmount(fencedAmount)} fenced`].join(" + ");
    breach(1, `holds ${formatAmount(amount)}, but ${sum}`);
  }
  if ((reservation.state === "open") !== openAmount > 0n) {
    breach(1, `is ${reservation.state} with ${formatAmount(openAmount)} open`);
  }
  if (settlements.length > reservation.messageCount) {
    breach(2, `has ${settlements.length} settlements for ${reservation.messageCount} messages`);
  }
  return breaches;
}

/** How a reservation is known to the ledger. */
export function reservationParts({ id, amount, fencedAmount }: CheckedReservation): string[] {
  const parts = [partText("hold", id, amount)];
  if (fencedAmount > 0n) parts.push(partText("release", id, fencedAmount));
  return parts;
}

/** How a settlement is known to the ledger. */
export function settlementParts(settlement: CheckedSettlement): string[] {
  const { messageId, heldAmount, capturedAmount } = settlement;
  const parts: string[] = [];
  if (capturedAmount > 0n) parts.push(partText("capture", messageId, capturedAmount));
  const remainder = heldAmount - capturedAmount;
  if (remainder > 0n) parts.push(partText("release", messageId, remainder));
  return parts;
}
