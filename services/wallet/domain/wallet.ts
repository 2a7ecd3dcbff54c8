/**
 * A wallet: one per tenant, a cached projection of its ledger. `available` is what new sends may
 * use; it is never negative, and neither is `held`.
 */

/** A wallet's state. Amounts count 1/10,000 of the currency unit. */
export type Wallet = {
  /** The tenant's id is the wallet's. */
  readonly tenantId: string;
  /** Fixed at creation. */
  readonly currency: string;
  readonly balance: bigint;
  readonly held: bigint;
  readonly lowBalanceThreshold: bigint;
  /** A frozen wallet refuses new holds; settlement goes on. */
  readonly frozen: boolean;
  /** True from a downward crossing of the threshold until available is back at or above it. */
  readonly low: boolean;
  /** Rises by one with each committed change; guards every write. */
  readonly version: number;
  /** How many ledger batches exist; the last one's `sequence`. */
  readonly sequence: number;
  /** The last ledger batch's hash; empty before the first. */
  readonly lastHash: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** What new sends may use. */
export function availableOf(wallet: Pick<Wallet, "balance" | "held">): bigint {
  return wallet.balance - wallet.held;
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
    // An empty wallet is below any threshold, but it has not crossed it: no event for being new.
    low: lowBalanceThreshold > 0n,
    version: 1,
    sequence: 0,
    lastHash: "",
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}
