import type { Clock } from "./clock.ts";

/** For how long something has gone on without a gap, such as hearing: who could not be heard is not silent. */
export type Continuity = {
  /** Milliseconds without a gap until now. */
  forMs(): number;
  /** Called whenever it goes on. */
  note(): void;
};

/**
 * Makes the count, which begins anew after a gap of more than `gapMaxMs`: this process was not there, or stood
 * still, or had no database. A machine that was suspended, and a step of its clock, show in the wall's clock alone.
 */
export function createUnbroken(wall: Clock, steady: Clock, gapMaxMs: number): Continuity {
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
