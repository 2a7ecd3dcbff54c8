import { AppError } from "../../shared/core/errors.ts";
import type { CommandResults, ReleaseCommand, SettleCommand } from "./command.ts";
import {
  findReservation,
  type LedgerBatch,
  markLow,
  post,
  replaceReservation,
} from "./ledger-batch.ts";
import { fenceReservation, type Reservation, type Settlement, settlePart } from "./reservation.ts";

/** Whether a requested settlement differs from the stored one. */
export function differsFrom(
  earlier: Settlement,
  tenantId: string,
  requested: Pick<SettleCommand, "reservationId" | "heldAmount" | "capturedAmount">,
): boolean {
  return (
    earlier.tenantId !== tenantId ||
    earlier.reservationId !== requested.reservationId ||
    earlier.capturedAmount !== requested.capturedAmount ||
    earlier.heldAmount !== requested.heldAmount
  );
}

/**
 * Decides one message's settlement. The first one is final; a later one moves nothing.
 * Errors: `not_found` when the tenant has no such reservation; `validation_error` when the captured
 * amount exceeds the held one; `invalid_state_transition` when the part is not open, or when all
 * messages of the reservation are settled.
 */
export function decideSettle(
  ledger: LedgerBatch,
  command: SettleCommand,
): CommandResults["settle"] | AppError {
  const { messageId, reservationId, heldAmount, capturedAmount } = command;
  const earlier = ledger.newSettlements.get(messageId) ?? ledger.view.settlements.get(messageId);
  if (earlier !== undefined) {
    return { isNew: false, differs: differsFrom(earlier, ledger.wallet.tenantId, command) };
  }
  if (capturedAmount < 0n || capturedAmount > heldAmount) {
    return new AppError("validation_error", "The captured amount must be from 0 to the held one.");
  }
  const reservation = findOwn(ledger, reservationId);
  if (reservation instanceof AppError) return reservation;
  if (heldAmount > reservation.openAmount) {
    return new AppError("invalid_state_transition", "The reservation does not hold that much.");
  }
  if (reservation.settledCount >= reservation.messageCount) {
    return new AppError("invalid_state_transition", "All messages of the reservation are settled.");
  }

  const remainder = heldAmount - capturedAmount;
  const detail = { reservationId, messageId, campaignId: reservation.campaignId };
  if (capturedAmount > 0n) post(ledger, "capture", capturedAmount, detail);
  if (remainder > 0n) post(ledger, "release", remainder, detail);
  // A part of zero may be settled after the reservation is closed, which stays closed.
  replaceReservation(ledger, settlePart(reservation, heldAmount));
  const settlement = {
    messageId,
    tenantId: ledger.wallet.tenantId,
    reservationId,
    heldAmount,
    capturedAmount,
    settledAtMs: ledger.context.nowMs,
  };
  ledger.newSettlements.set(messageId, settlement);
  markLow(ledger);
  return { isNew: true, differs: false };
}

/** Decides the release of a fenced reservation. A repeated release moves nothing. */
export function decideRelease(
  ledger: LedgerBatch,
  command: ReleaseCommand,
): CommandResults["release"] | AppError {
  const reservation = findOwn(ledger, command.reservationId);
  if (reservation instanceof AppError) return reservation;
  const releasedAmount = reservation.openAmount;
  if (releasedAmount === 0n) return { releasedAmount };
  const { id: reservationId, campaignId } = reservation;
  post(ledger, "release", releasedAmount, { reservationId, campaignId });
  replaceReservation(ledger, fenceReservation(reservation));
  markLow(ledger);
  return { releasedAmount };
}

/** Finds a reservation of this tenant. Another tenant's reservation is `not_found` too. */
function findOwn(ledger: LedgerBatch, reservationId: string): Reservation | AppError {
  const reservation = findReservation(ledger, reservationId);
  if (reservation === undefined || reservation.tenantId !== ledger.wallet.tenantId) {
    return new AppError("not_found", "No such reservation.");
  }
  return reservation;
}
