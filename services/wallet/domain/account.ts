/**
 * The accounts of the ledger and the five movements between them. Every movement takes an amount
 * from one account and adds it to another, so the sum over all accounts is always zero.
 *
 * - available: the customer's money that new sends may use.
 * - held: the customer's money reserved for messages in flight.
 * - revenue: charges. funding: the source of incoming money. adjustments: corrections.
 */

/** Every account, customer accounts first. */
export const ACCOUNTS = ["available", "held", "revenue", "funding", "adjustments"] as const;

/** One account of a wallet's ledger. */
export type Account = (typeof ACCOUNTS)[number];

/** The kinds of movement. */
export const ENTRY_KINDS = ["fund", "adjust", "hold", "capture", "release"] as const;

/** One kind of movement. */
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** The account that each kind of movement takes from, and the one that it adds to. */
export const MOVEMENTS: Readonly<
  Record<EntryKind, { readonly from: Account; readonly to: Account }>
> = Object.freeze({
  fund: { from: "funding", to: "available" },
  adjust: { from: "adjustments", to: "available" },
  hold: { from: "available", to: "held" },
  capture: { from: "held", to: "revenue" },
  release: { from: "held", to: "available" },
});

/** One side of a movement: an amount added to (positive) or taken from (negative) an account. */
export type Posting = { readonly account: Account; readonly amount: bigint };

/** Net amounts per account. */
export type Totals = Record<Account, bigint>;

/** Both sides of a movement; they sum to zero. */
export function postingsOf(kind: EntryKind, amount: bigint): readonly [Posting, Posting] {
  const { from, to } = MOVEMENTS[kind];
  return [
    { account: from, amount: -amount },
    { account: to, amount },
  ];
}

/** All accounts at zero. */
export function zeroTotals(): Totals {
  return { available: 0n, held: 0n, revenue: 0n, funding: 0n, adjustments: 0n };
}

/** Adds a movement to totals, in place. */
export function addMovement(totals: Totals, kind: EntryKind, amount: bigint): void {
  const { from, to } = MOVEMENTS[kind];
  totals[from] -= amount;
  totals[to] += amount;
}

/** The sum over all accounts. It is zero in a sound ledger. */
export function sumOf(totals: Totals): bigint {
  return ACCOUNTS.reduce((sum, account) => sum + totals[account], 0n);
}
