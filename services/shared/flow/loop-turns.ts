import { setImmediate as nextIteration, setTimeout as sleep } from "node:timers/promises";

/** Spreads long synchronous work over time. */
export type LoopTurns = {
  /** Resolves when the caller may start; its work is what it does before its next macrotask. */
  next(): Promise<void>;
};

/** The longest pause after one turn: a longer stall of the process was not this turn's work alone. */
const PAUSE_MAX_MS = 100;

/**
 * Gives turns one at a time, in order of arrival. After each turn the event loop serves everything else for `rest`
 * times as long as the turn took: with 1, this work has at most half of the loop. Without it many such pieces of
 * work run in a row, and each other request waits for all of them.
 */
export function createLoopTurns(rest = 1): LoopTurns {
  let last: Promise<void> = Promise.resolve();
  return {
    next() {
      const turn = last;
      last = turn.then(async () => {
        const startMs = performance.now();
        await nextIteration();
        const tookMs = performance.now() - startMs;
        if (tookMs >= 1) await sleep(Math.min(PAUSE_MAX_MS, rest * tookMs));
      });
      return turn;
    },
  };
}
