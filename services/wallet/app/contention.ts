/**
 * Wallets that several replicas write (ADR 103). MongoDB reports a write conflict at once and queues
 * nothing, so a transaction that conflicts is run again after a few milliseconds, with jitter. A
 * replica that has just committed would win again, with a small batch: on a wallet with recent
 * conflicts it first gives way for longer than the others wait between two attempts. Each replica
 * then finds a large batch when it wins.
 */
import { pause } from "../../shared/flow/backoff.ts";

/** A wallet without a conflict for this long is no longer contended. */
const FORGET_MS = 1000;
/** The maximum number of contended wallets in memory. Above it all are dropped, which costs a few conflicts. */
const CONTENDED_MAX = 10_000;
/** Mean time for which a replica gives way. */
const GIVE_WAY_MS = 5;

/** One replica's view of the wallets that other replicas write too. */
export type Contention = ReturnType<typeof createContention>;

/** Creates one replica's view, by a monotonic clock and a wait in milliseconds. */
export function createContention(nowMs = () => performance.now(), wait = pause) {
  /** The last conflict by wallet: of any transaction, and of a transaction on this wallet alone. */
  const inAny = new Map<string, number>();
  const alone = new Map<string, number>();

  function isRecent(conflicts: Map<string, number>, tenantId: string): boolean {
    const lastMs = conflicts.get(tenantId);
    if (lastMs === undefined) return false;
    if (nowMs() - lastMs < FORGET_MS) return true;
    conflicts.delete(tenantId);
    return false;
  }

  function record(conflicts: Map<string, number>, tenantIds: readonly string[]): void {
    if (conflicts.size + tenantIds.length > CONTENDED_MAX) conflicts.clear();
    for (const tenantId of tenantIds) conflicts.set(tenantId, nowMs());
  }

  return {
    /** Whether transactions on this wallet alone conflict: the wallet should then share no transaction. */
    isContended: (tenantId: string) => isRecent(alone, tenantId),
    /** Whether a transaction on these wallets should write them first, so that it conflicts early. */
    expectsConflict: (tenantIds: readonly string[]) =>
      tenantIds.some((tenantId) => isRecent(inAny, tenantId)),
    /** Waits before a transaction, so that other replicas get their turn. */
    async giveWay([tenantId = "", ...others]: readonly string[]): Promise<void> {
      if (others.length > 0 || !isRecent(alone, tenantId)) return;
      await wait(GIVE_WAY_MS * (0.5 + Math.random()));
    },
    /** Waits after a transaction's n-th conflict, counted from 0, until its next attempt. */
    async waitAfterConflict(tenantIds: readonly string[], conflicts: number): Promise<void> {
      record(inAny, tenantIds);
      if (tenantIds.length === 1) record(alone, tenantIds);
      await wait(Math.min(8, 1 + conflicts * 0.25) * (0.5 + Math.random()));
    },
  };
}
