/**
 * Recomputes one wallet from its ledger. Checks that batches are in order, that each one names the
 * hash of the one before and is balanced, that available and held are never negative after a
 * movement, and that the result equals the stored wallet.
 */
import { formatAmount } from "../../shared/core/money.ts";
import { ACCOUNTS, sumOf } from "./account.ts";
import { type EntryBatch, effectOf, hashBatch, type Movement, totalsOf } from "./entry.ts";
import { addItem, emptyFingerprint, type Fingerprint } from "./fingerprint.ts";
import type { Wallet } from "./wallet.ts";

/** A broken invariant, by its number in docs/invariants.md. */
export type Breach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

/** Sums over a wallet's ledger. */
export type LedgerSum = {
  readonly tenantId: string;
  sequence: number;
  lastHash: string;
  balance: bigint;
  held: bigint;
  entries: number;
  /** Every hold, capture and release, to compare with reservations and settlements. */
  readonly items: Fingerprint;
};

/** An empty ledger. */
export function emptyLedger(tenantId: string): LedgerSum {
  return {
    tenantId,
    sequence: 0,
    lastHash: "",
    balance: 0n,
    held: 0n,
    entries: 0,
    items: emptyFingerprint(),
  };
}

/** Adds the next batch of a ledger to its sum, and returns the breaches in it. */
export function addBatch(sum: LedgerSum, batch: EntryBatch): Breach[] {
  const breaches: Breach[] = [];
  const name = `batch ${batch.sequence}`;
  const breach = (what: string) =>
    void breaches.push({ invariant: 1, what: `${name}: ${what}`, ids: [sum.tenantId] });

  if (batch.sequence !== sum.sequence + 1) breach(`follows ${sum.sequence}: batches are missing`);
  if (hashBatch(sum.lastHash, batch) !== batch.hash) breach("its hash is wrong: it was edited");
  const totals = totalsOf(batch.movements);
  if (sumOf(batch.totals) !== 0n) breach("its accounts do not sum to zero");
  if (ACCOUNTS.some((account) => totals[account] !== batch.totals[account])) {
    breach("its totals are not those of its movements");
  }
  for (const movement of batch.movements) {
    const effect = effectOf(movement.kind, movement.amount);
    sum.balance += effect.balance;
    sum.held += effect.held;
    if (sum.held < 0n) breach(`held is negative after ${movement.id}`);
    if (sum.balance < sum.held) breach(`available is negative after ${movement.id}`);
    const item = itemOf(movement);
    if (item !== undefined) addItem(sum.items, item);
  }
  if (sum.balance !== batch.balanceAfter || sum.held !== batch.heldAfter) {
    breach("its figures are not what its movements lead to");
  }
  sum.entries += batch.movements.length;
  sum.sequence = batch.sequence;
  sum.lastHash = batch.hash;
  return breaches;
}

/** Compares a finished ledger with its wallet. */
export function compareWallet(sum: LedgerSum, wallet: Wallet): Breach[] {
  const breaches: Breach[] = [];
  const compare = (figure: string, shown: unknown, computed: unknown) => {
    if (shown === computed) return;
    const text = (value: unknown) => (typeof value === "bigint" ? formatAmount(value) : value);
    const what = `the wallet's ${figure} is ${text(shown)}, its entries lead to ${text(computed)}`;
    breaches.push({ invariant: 1, what, ids: [wallet.tenantId] });
  };
  compare("balance", wallet.balance, sum.balance);
  compare("held", wallet.held, sum.held);
  compare("sequence", wallet.sequence, sum.sequence);
  compare("last hash", wallet.lastHash, sum.lastHash);
  return breaches;
}

/** The item of a movement; undefined when reservations and settlements have none for it. */
export function itemOf(movement: Movement): string | undefined {
  const { kind, amount, reservationId, messageId } = movement;
  if (kind === "fund" || kind === "adjust") return undefined;
  return itemText(kind, messageId === "" ? reservationId : messageId, amount);
}

/** The text of one item: a hold or fence release by reservation id, else by message id. */
export function itemText(kind: "hold" | "capture" | "release", id: string, amount: bigint): string {
  return `${kind} ${id} ${amount}`;
}
