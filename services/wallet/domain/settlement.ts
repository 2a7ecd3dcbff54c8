import { AppError } from "../../shared/core/errors.ts";
import type { Outcomes, ReleaseCommand, SettleCommand } from "./command.ts";
import { type Book, findReservation, markLow, post, replaceReservation } from "./ledger-batch.ts";
import { fenceReservation, type Reservation, type Settlement, takePart } from "./reservation.ts";

/** Whether a settlement asked for is another one than that which stands. */
export function differsFrom(
  earlier: Settlement,
  tenantId: string,
  asked: Pick<SettleCommand, "reservationId" | "heldAmount" | "capturedAmount">,
): boolean {
  return (
    earlier.tenantId !== tenantId ||
    earlier.reservationId !== asked.reservationId ||
    earlier.capturedAmount !== asked.capturedAmount ||
    earlier.heldAmount !== asked.heldAmount
  );
}

/**
 * Decides one message's settlement. The first one stands for ever; any later one moves nothing.
 * Errors: `not_found` when the reservation does not exist for this tenant; `validation_error` when
 * more would be captured than was held; `invalid_state_transition` when the part is not open.
 */
export function decideSettle(book: Book, command: SettleCommand): Outcomes["settle"] | AppError {
  const { messageId, reservationId, heldAmount, capturedAmount } = command;
  const earlier = book.newSettlements.get(messageId) ?? book.view.settlements.get(messageId);
  if (earlier !== undefined) {
    return { isNew: false, differs: differsFrom(earlier, book.wallet.tenantId, command) };
  }
  if (capturedAmount < 0n || capturedAmount > heldAmount) {
    return new AppError("validation_error", "The captured amount must be from 0 to the held one.");
  }
  const reservation = findOwn(book, reservationId);
  if (reservation instanceof AppError) return reservation;
  if (heldAmount > reservation.openAmount) {
    return new AppError("invalid_state_transition", "The reservation does not hold that much.");
  }

  const remainder = heldAmount - capturedAmount;
  if (capturedAmount > 0n) post(book, "capture", capturedAmount, { reservationId, messageId });
  if (remainder > 0n) post(book, "release", remainder, { reservationId, messageId });
  // A part of nothing may come after the reservation was closed, which is final.
  if (heldAmount > 0n) replaceReservation(book, takePart(reservation, heldAmount));
  const settlement = {
    messageId,
    tenantId: book.wallet.tenantId,
    reservationId,
    heldAmount,
    capturedAmount,
    settledAtMs: book.context.nowMs,
  };
  book.newSettlements.set(messageId, settlement);
  markLow(book);
  return { isNew: true, differs: false };
}

/** Decides the release of a fenced reservation. Repeating it releases nothing more. */
export function decideRelease(book: Book, command: ReleaseCommand): Outcomes["release"] | AppError {
  const reservation = findOwn(book, command.reservationId);
  if (reservation instanceof AppError) return reservation;
  const releasedAmount = reservation.openAmount;
  if (releasedAmount === 0n) return { releasedAmount };
  post(book, "release", releasedAmount, { reservationId: reservation.id });
  replaceReservation(book, fenceReservation(reservation));
  markLow(book);
  return { releasedAmount };
}

/** Another tenant's reservation is as unknown as one that never was. */
function findOwn(book: Book, reservationId: string): Reservation | AppError {
  const reservation = findReservation(book, reservationId);
  if (reservation === undefined || reservation.tenantId !== book.wallet.tenantId) {
    return new AppError("not_found", "No such reservation.");
  }
  return reservation;
}
