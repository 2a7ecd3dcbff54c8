/**
 * Checks reservations against their settlements. Both are ordered by reservation id, so the check
 * merges them in constant memory.
 */
import { formatAmount } from "../../shared/core/money.ts";
import { type Breach, itemText } from "./check-ledger.ts";
import { addItem, emptyFingerprint, type Fingerprint } from "./fingerprint.ts";
import type { Reservation, Settlement } from "./reservation.ts";

/** The fields of a reservation that the check reads. */
export type CheckedReservation = Omit<
  Reservation,
  "settledCount" | "firstMessageId" | "lastMessageId" | "campaignId" | "createdAtMs"
>;

/** The fields of a settlement that the check reads. */
export type CheckedSettlement = Omit<Settlement, "settledAtMs">;

/** One tenant's sum: the open amounts, and the items to compare with the ledger. */
export type HoldSum = { open: bigint; readonly items: Fingerprint };

/** Sums by tenant. */
export type HoldSums = Map<string, HoldSum>;

/** Returns the tenant's sum; adds an empty one at the first call. */
export function holdSum(sums: HoldSums, tenantId: string): HoldSum {
  let sum = sums.get(tenantId);
  if (sum === undefined) {
    sum = { open: 0n, items: emptyFingerprint() };
    sums.set(tenantId, sum);
  }
  return sum;
}

/** Checks one reservation with all its settlements, and adds both to the tenant's sum. */
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
  for (const item of reservationItems(reservation)) addItem(sum.items, item);
  let settled = 0n;
  for (const settlement of settlements) {
    const { messageId, heldAmount, capturedAmount } = settlement;
    settled += heldAmount;
    if (settlement.tenantId !== tenantId) breach(9, "settled by another tenant", messageId);
    if (capturedAmount < 0n || capturedAmount > heldAmount) {
      breach(2, "captured more than was held", messageId);
    }
    for (const item of settlementItems(settlement)) addItem(sum.items, item);
  }
  if (openAmount < 0n) breach(1, "less than nothing is open");
  if (openAmount + fencedAmount + settled !== amount) {
    const items = [`${formatAmount(openAmount)} open`, `${formatAmount(settled)} settled`];
    const sum = [...items, `${formatAmount(fencedAmount)} fenced`].join(" + ");
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

/** The items that the ledger must have for a reservation. */
export function reservationItems({ id, amount, fencedAmount }: CheckedReservation): string[] {
  const items = [itemText("hold", id, amount)];
  if (fencedAmount > 0n) items.push(itemText("release", id, fencedAmount));
  return items;
}

/** The items that the ledger must have for a settlement. */
export function settlementItems(settlement: CheckedSettlement): string[] {
  const { messageId, heldAmount, capturedAmount } = settlement;
  const items: string[] = [];
  if (capturedAmount > 0n) items.push(itemText("capture", messageId, capturedAmount));
  const remainder = heldAmount - capturedAmount;
  if (remainder > 0n) items.push(itemText("release", messageId, remainder));
  return items;
}
