/** Time as an input: everything that needs "now" takes a `Clock`. */
export type Clock = {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
};

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds since some instant: for waits within a process, which no step of the machine's clock may stretch. */
export const steadyClock: Clock = { now: () => performance.now() };

/** A clock for tests that moves only when told to. */
export function createManualClock(startMs: number): Clock & { advance(byMs: number): void } {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(byMs) {
      nowMs += byMs;
    },
  };
}
