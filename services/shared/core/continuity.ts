import type { Clock } from "./clock.ts";

/**
 * Measures how long this process has run without a pause. A peer whose messages could not arrive during a
 * pause is not considered dead.
 */
export type Continuity = {
  /** Milliseconds without a pause until now. */
  forMs(): number;
  /** Records that the process is running. */
  note(): void;
};

/**
 * Starts again after a pause of more than `gapMaxMs`: the process was stopped, blocked or without its database.
 * A suspended machine and a step of the system clock show in the system clock only, so both clocks are
 * compared.
 */
export function createContinuity(wall: Clock, steady: Clock, gapMaxMs: number): Continuity {
  let since = steady.now();
  let last = { wallMs: wall.now(), steadyMs: since };

  const isGap = () => Math.max(wall.now() - last.wallMs, steady.now() - last.steadyMs) > gapMaxMs;

  return {
    forMs: () => (isGap() ? 0 : steady.now() - since),
    note() {
      if (isGap()) since = steady.now();
      last = { wallMs: wall.now(), steadyMs: steady.now() };
    },
  };
}
