import { AppError } from "../../shared/core/errors.ts";
import { AMOUNT_MAX, formatAmount } from "../../shared/core/money.ts";
import type {
  AdjustCommand,
  CommandResults,
  FundCommand,
  FundingResult,
  UpdateCommand,
} from "./command.ts";
import { insufficientBalance } from "./hold.ts";
import { addAudit, addEvent, type LedgerBatch, lastEntry, markLow, post } from "./ledger-batch.ts";
import { availableOf } from "./wallet.ts";

/**
 * Decides a funding or an adjustment. A known reference with the same kind and amount returns the
 * first entry; with another kind or amount it is `idempotency_key_reused`. An adjustment cannot
 * take more than the available amount (`insufficient_balance`): held money belongs to messages in
 * flight.
 */
export function decideFunding(
  ledger: LedgerBatch,
  command: FundCommand | AdjustCommand,
): FundingResult | AppError {
  const { kind, amount, reference, actor } = command;
  const earlier = ledger.newReferences.get(reference) ?? ledger.view.references.get(reference);
  if (earlier !== undefined) {
    if (earlier.kind !== kind || earlier.amount !== amount) {
      return new AppError("idempotency_key_reused", "The reference was used for another movement.");
    }
    return { wallet: ledger.wallet, entry: earlier, replayed: true };
  }
  const available = availableOf(ledger.wallet);
  if (-amount > available) {
    const figure = `${formatAmount(available)} ${ledger.wallet.currency}`;
    const text = `An adjustment takes no more than what is available, which is ${figure}.`;
    return insufficientBalance(ledger.wallet, -amount, text);
  }
  if (ledger.wallet.balance + amount > AMOUNT_MAX) {
    return new AppError("validation_error", "The balance would exceed the largest amount.", {
      fields: [
        { field: "amount", code: "out_of_range", message: "The balance would be too large." },
      ],
    });
  }

  const reason = command.kind === "adjust" ? command.reason : "";
  const before = { balance: formatAmount(ledger.wallet.balance) };
  const movement = post(ledger, kind, amount, { reference, reason, actor: actor.name });
  const entry = lastEntry(ledger, movement);
  ledger.newReferences.set(reference, entry);
  const moved = { amount: formatAmount(amount), currency: ledger.wallet.currency, reference };
  const change = reason === "" ? moved : { ...moved, reason };
  const after = { ...change, balance: formatAmount(ledger.wallet.balance) };
  addAudit(ledger, `wallet.${kind}`, actor, change, before, after);
  markLow(ledger);
  if (kind === "fund") addEvent(ledger, "funded", amount, reference);
  return { wallet: ledger.wallet, entry, replayed: false };
}

/** Decides a change of settings. Without a difference nothing is written or audited. */
export function decideUpdate(
  ledger: LedgerBatch,
  command: UpdateCommand,
): CommandResults["update"] {
  const { wallet } = ledger;
  const before: Record<string, string | boolean> = {};
  const change: Record<string, string | boolean> = {};
  let next = wallet;
  const { lowBalanceThreshold: threshold, frozen } = command;
  if (threshold !== undefined && threshold !== wallet.lowBalanceThreshold) {
    next = { ...next, lowBalanceThreshold: threshold };
    before.low_balance_threshold = formatAmount(wallet.lowBalanceThreshold);
    change.low_balance_threshold = formatAmount(threshold);
  }
  if (frozen !== undefined && frozen !== wallet.frozen) {
    next = { ...next, frozen };
    before.frozen = wallet.frozen;
    change.frozen = frozen;
  }
  if (next === wallet) return { wallet };
  ledger.wallet = next;
  addAudit(ledger, "wallet.update", command.actor, change, before, change);
  markLow(ledger);
  return { wallet: ledger.wallet };
}
