/**
 * A wallet: one per tenant, a cached projection of its ledger. `available` is the amount for new
 * sends. `available` and `held` are never negative.
 */

/** A wallet's state. Amounts count 1/10,000 of the currency unit. */
export type Wallet = {
  /** Also the wallet's id. */
  readonly tenantId: string;
  /** Fixed at creation. */
  readonly currency: string;
  readonly balance: bigint;
  readonly held: bigint;
  readonly lowBalanceThreshold: bigint;
  /** A frozen wallet refuses new holds and continues to settle messages. */
  readonly frozen: boolean;
  /** True from a downward crossing of the threshold until available reaches it again. */
  readonly low: boolean;
  /** Increases by one with each committed change; guards every write. */
  readonly version: number;
  /** Number of ledger batches, and the `sequence` of the last one. */
  readonly sequence: number;
  /** The last ledger batch's hash; empty before the first. */
  readonly lastHash: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** The amount that new sends may use. */
export function availableOf(wallet: Pick<Wallet, "balance" | "held">): bigint {
  return wallet.balance - wallet.held;
}

/** Whether the wallet is below its threshold; the crossing downwards is the event `low_balance`. */
export function isBelowThreshold(wallet: Wallet): boolean {
  return availableOf(wallet) < wallet.lowBalanceThreshold;
}

/** A new, empty wallet. */
export function newWallet(
  tenantId: string,
  currency: string,
  lowBalanceThreshold: bigint,
  nowMs: number,
): Wallet {
  return {
    tenantId,
    currency,
    balance: 0n,
    held: 0n,
    lowBalanceThreshold,
    frozen: false,
    // A new wallet is below its threshold without having crossed it, so it gets no event.
    low: lowBalanceThreshold > 0n,
    version: 1,
    sequence: 0,
    lastHash: "",
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}
