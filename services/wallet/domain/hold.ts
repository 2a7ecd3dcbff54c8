import { AppError } from "../../shared/core/errors.ts";
import { formatAmount } from "../../shared/core/money.ts";
import type { HoldCommand, Outcomes } from "./command.ts";
import { type Book, findReservation, markLow, post } from "./ledger-batch.ts";
import { availableOf, type Wallet } from "./wallet.ts";

/**
 * Decides one hold: all or nothing. A known reservation id answers what it answered first.
 * Errors: `insufficient_balance`; `tenant_suspended` when the wallet is frozen (the balance is not
 * the reason, so 402 would be a lie); `idempotency_key_reused` for an id used for another hold.
 */
export function decideHold(book: Book, command: HoldCommand): Outcomes["hold"] | AppError {
  const { wallet } = book;
  const known = findReservation(book, command.reservationId);
  if (known !== undefined) {
    const isSame = known.amount === command.amount && known.messageCount === command.messageCount;
    if (known.tenantId !== wallet.tenantId || !isSame) {
      return new AppError(
        "idempotency_key_reused",
        "The reservation id was used for another hold.",
      );
    }
    return { currency: wallet.currency, available: availableOf(wallet) };
  }
  if (wallet.frozen) return new AppError("tenant_suspended", "The wallet is frozen.");
  if (command.amount > availableOf(wallet)) return insufficientBalance(wallet, command.amount);

  post(book, "hold", command.amount, { reservationId: command.reservationId });
  book.newReservations.set(command.reservationId, {
    id: command.reservationId,
    tenantId: wallet.tenantId,
    amount: command.amount,
    openAmount: command.amount,
    fencedAmount: 0n,
    state: "open",
    messageCount: command.messageCount,
    firstMessageId: command.firstMessageId,
    lastMessageId: command.lastMessageId,
    createdAtMs: book.context.nowMs,
  });
  markLow(book);
  return { currency: wallet.currency, available: availableOf(book.wallet) };
}

/** The 402: what was asked, what there is, in which currency; said of a send unless told otherwise. */
export function insufficientBalance(
  wallet: Wallet,
  required: bigint,
  text = "The available balance does not cover this send.",
): AppError {
  return new AppError("insufficient_balance", text, {
    extra: {
      required_amount: formatAmount(required),
      available_amount: formatAmount(availableOf(wallet)),
      currency: wallet.currency,
    },
  });
}
