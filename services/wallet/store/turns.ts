/**
 * Taking turns on a wallet that several replicas write. MongoDB has no queue for a document: who
 * comes at the right moment wins, and the one that has just finished comes first again. So a
 * replica that met another one steps back for about one transaction after its own, while those
 * that wait ask often. Each then finds a large batch when its turn comes. Only time is at stake
 * here, never what is written.
 */
export type Turns = {
  /** How long to step back before beginning on these wallets, in milliseconds. */
  stepBackMs(tenantIds: readonly string[]): number;
  /** How long to wait before asking again, after that many conflicts in a row. */
  askAgainMs(conflicts: number): number;
  /** Notes a finished transaction: how long it had the wallets, and whether it met another. */
  finished(tenantIds: readonly string[], durationMs: number, conflicts: number): void;
};

/** Longest step back: a stray slow transaction must not stop a wallet. */
const STEP_BACK_MAX_MS = 50;
/** A wallet that met no other replica for this long has no turns any more. */
const FORGET_AFTER_MS = 1000;

/** Wallets remembered at most. */
const WALLETS_MAX = 10_000;

type Shared = { untilMs: number; seenMs: number };

/** Makes the turns of one replica. `nowMs` is a monotonic clock. */
export function createTurns(nowMs: () => number = () => performance.now()): Turns {
  const shared = new Map<string, Shared>();

  function stepBackMs(tenantId: string, now: number): number {
    const turn = shared.get(tenantId);
    if (turn === undefined) return 0;
    if (now - turn.seenMs < FORGET_AFTER_MS) return Math.max(0, turn.untilMs - now);
    shared.delete(tenantId);
    return 0;
  }

  return {
    stepBackMs(tenantIds) {
      if (shared.size === 0) return 0;
      const now = nowMs();
      return tenantIds.reduce((most, id) => Math.max(most, stepBackMs(id, now)), 0);
    },
    askAgainMs: (conflicts) => Math.min(8, 1 + conflicts * 0.25) * (0.5 + Math.random()),
    finished(tenantIds, durationMs, conflicts) {
      if (conflicts === 0 && shared.size === 0) return;
      const now = nowMs();
      const untilMs = now + Math.min(STEP_BACK_MAX_MS, durationMs);
      for (const tenantId of tenantIds) {
        const seenMs = conflicts > 0 ? now : shared.get(tenantId)?.seenMs;
        if (seenMs === undefined) continue;
        // Forgetting all of them costs a few conflicts; keeping too many would cost memory.
        if (shared.size >= WALLETS_MAX) shared.clear();
        shared.set(tenantId, { untilMs, seenMs });
      }
    },
  };
}
