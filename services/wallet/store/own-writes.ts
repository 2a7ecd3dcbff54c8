/**
 * Wallets as the last transaction of this process left them (ADR 175). A transaction may decide on them without a
 * read: its save expects them unchanged, so it fails when another replica has written one since.
 */
import { createBoundedMap } from "../../shared/flow/bounded-map.ts";
import type { Wallet } from "../domain/wallet.ts";

/** The maximum number of wallets kept. Above it the wallet written longest ago is dropped, and is read when needed. */
const WALLETS_MAX = 4096;
/** A wallet that another replica has written is read, not kept, for this long. */
const READ_MS = 10_000;

/** Creates an empty memory of own writes, by a monotonic clock. */
export function createOwnWrites(nowMs = () => performance.now()) {
  const wallets = createBoundedMap<string, Wallet>(WALLETS_MAX);
  const readUntilMs = createBoundedMap<string, number>(WALLETS_MAX);

  return {
    /**
     * Takes these wallets out, for one attempt of a transaction; undefined unless all are kept. Only `keep` puts
     * wallets back, so after an attempt that fails, or whose end is unknown, the next one reads them.
     */
    take(tenantIds: readonly string[]): readonly Wallet[] | undefined {
      const taken = tenantIds.flatMap((tenantId) => wallets.get(tenantId) ?? []);
      for (const tenantId of tenantIds) wallets.delete(tenantId);
      return taken.length === tenantIds.length ? taken : undefined;
    },
    /** Keeps what a transaction has committed. */
    keep(written: readonly Wallet[]): void {
      for (const wallet of written) {
        const untilMs = readUntilMs.get(wallet.tenantId);
        if (untilMs !== undefined && nowMs() < untilMs) continue;
        readUntilMs.delete(wallet.tenantId);
        wallets.set(wallet.tenantId, wallet);
      }
    },
    /** Another replica has written one of these wallets: keep none of them for `READ_MS`. */
    avoid(tenantIds: readonly string[]): void {
      for (const tenantId of tenantIds) readUntilMs.set(tenantId, nowMs() + READ_MS);
    },
  };
}
