import { AppError } from "../../shared/core/errors.ts";
import { AMOUNT_MAX, formatAmount } from "../../shared/core/money.ts";
import type {
  AdjustCommand,
  FundCommand,
  FundOutcome,
  Outcomes,
  UpdateCommand,
} from "./command.ts";
import { insufficientBalance } from "./hold.ts";
import { addAudit, addEvent, type Book, lastEntry, markLow, post } from "./ledger-batch.ts";
import { availableOf } from "./wallet.ts";

/**
 * Decides a funding or an adjustment. A known reference with the same kind and amount answers the
 * first entry again; with another it is `idempotency_key_reused`. An adjustment may not take what
 * is not available (`insufficient_balance`): held money belongs to messages in flight.
 */
export function decideFunding(
  book: Book,
  command: FundCommand | AdjustCommand,
): FundOutcome | AppError {
  const { kind, amount, reference, actor } = command;
  const earlier = book.newReferences.get(reference) ?? book.view.references.get(reference);
  if (earlier !== undefined) {
    if (earlier.kind !== kind || earlier.amount !== amount) {
      return new AppError("idempotency_key_reused", "The reference was used for another movement.");
    }
    return { wallet: book.wallet, entry: earlier, replayed: true };
  }
  const available = availableOf(book.wallet);
  if (-amount > available) {
    const figure = `${formatAmount(available)} ${book.wallet.currency}`;
    const text = `An adjustment takes no more than what is available, which is ${figure}.`;
    return insufficientBalance(book.wallet, -amount, text);
  }
  if (book.wallet.balance + amount > AMOUNT_MAX) {
    return new AppError("validation_error", "The balance would exceed the largest amount.", {
      fields: [
        { field: "amount", code: "out_of_range", message: "The balance would be too large." },
      ],
    });
  }

  const reason = command.kind === "adjust" ? command.reason : "";
  const movement = post(book, kind, amount, { reference, reason, actor: actor.name });
  const entry = lastEntry(book, movement);
  book.newReferences.set(reference, entry);
  const change = { amount: formatAmount(amount), currency: book.wallet.currency, reference };
  addAudit(book, `wallet.${kind}`, actor, reason === "" ? change : { ...change, reason });
  markLow(book);
  if (kind === "fund") addEvent(book, "funded", amount, reference);
  return { wallet: book.wallet, entry, replayed: false };
}

/** Decides a change of settings. One that changes nothing is not written, nor audited. */
export function decideUpdate(book: Book, command: UpdateCommand): Outcomes["update"] {
  const { wallet } = book;
  const change: Record<string, string | boolean> = {};
  let next = wallet;
  const { lowBalanceThreshold: threshold, frozen } = command;
  if (threshold !== undefined && threshold !== wallet.lowBalanceThreshold) {
    next = { ...next, lowBalanceThreshold: threshold };
    change.low_balance_threshold = formatAmount(threshold);
  }
  if (frozen !== undefined && frozen !== wallet.frozen) {
    next = { ...next, frozen };
    change.frozen = frozen;
  }
  if (next === wallet) return { wallet };
  book.wallet = next;
  addAudit(book, "wallet.update", command.actor, change);
  markLow(book);
  return { wallet: book.wallet };
}
