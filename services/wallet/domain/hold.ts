import { AppError } from "../../shared/core/errors.ts";
import { formatAmount } from "../../shared/core/money.ts";
import type { CommandResults, HoldCommand } from "./command.ts";
import { findReservation, type LedgerBatch, markLow, post } from "./ledger-batch.ts";
import { availableOf, type Wallet } from "./wallet.ts";

/**
 * Decides one hold, all or nothing. A known reservation id succeeds without a second movement. Errors:
 * `insufficient_balance`; `tenant_suspended` when the wallet is frozen (`insufficient_balance` would name the wrong
 * reason); `idempotency_key_reused` when the id belongs to another hold.
 */
export function decideHold(
  ledger: LedgerBatch,
  command: HoldCommand,
): CommandResults["hold"] | AppError {
  const { wallet } = ledger;
  const known = findReservation(ledger, command.reservationId);
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

  const { reservationId, campaignId } = command;
  post(ledger, "hold", command.amount, { reservationId, campaignId });
  ledger.newReservations.set(command.reservationId, {
    id: command.reservationId,
    tenantId: wallet.tenantId,
    amount: command.amount,
    openAmount: command.amount,
    fencedAmount: 0n,
    state: "open",
    messageCount: command.messageCount,
    settledCount: 0,
    firstMessageId: command.firstMessageId,
    lastMessageId: command.lastMessageId,
    campaignId,
    createdAtMs: ledger.context.nowMs,
  });
  markLow(ledger);
  return { currency: wallet.currency, available: availableOf(ledger.wallet) };
}

/** The error `insufficient_balance` with the required and available amounts and the currency. */
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
