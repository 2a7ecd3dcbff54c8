/**
 * Taking turns on a wallet that several replicas write. MongoDB has no queue for a document: who
 * comes at the right moment wins, and the one that has just finished comes first again. So a
 * replica that met another one steps back for about one transaction after its own, while those
 * that wait ask often. Each then finds a large batch when its turn comes. Only time is at stake
 * here, never what is written.
 */
export type Turns = {
  /** How long to step back before beginning on this wallet, in milliseconds. */
  stepBackMs(tenantId: string): number;
  /** How long to wait before asking again, after that many conflicts in a row. */
  askAgainMs(conflicts: number): number;
  /** Notes a finished transaction: how long it had the wallet, and whether it met another. */
  finished(tenantId: string, durationMs: number, conflicts: number): void;
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
  return {
    stepBackMs(tenantId) {
      const turn = shared.get(tenantId);
      if (turn === undefined) return 0;
      const now = nowMs();
      if (now - turn.seenMs < FORGET_AFTER_MS) return Math.max(0, turn.untilMs - now);
      shared.delete(tenantId);
      return 0;
    },
    askAgainMs: (conflicts) => Math.min(8, 1 + conflicts * 0.25) * (0.5 + Math.random()),
    finished(tenantId, durationMs, conflicts) {
      const now = nowMs();
      const turn = shared.get(tenantId);
      const seenMs = conflicts > 0 ? now : turn?.seenMs;
      if (seenMs === undefined) return;
      const untilMs = now + Math.min(STEP_BACK_MAX_MS, durationMs);
      // Forgetting all of them costs a few conflicts; keeping too many would cost memory.
      if (shared.size >= WALLETS_MAX) shared.clear();
      shared.set(tenantId, { untilMs, seenMs });
    },
  };
}
