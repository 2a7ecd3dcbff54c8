/** Time as an input: code that needs the current time takes a `Clock`. */
export type Clock = {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
};

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/**
 * Monotonic milliseconds, for waits within a process: a step of the system clock must not stretch them.
 */
export const steadyClock: Clock = { now: () => performance.now() };

/** A clock for tests; it moves only when the test advances it. */
export function createManualClock(startMs: number): Clock & { advance(byMs: number): void } {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(byMs) {
      nowMs += byMs;
    },
  };
}
