/**
 * A beat for work that nobody waits for. What comes alone is done at once; what comes while there is
 * much to do is done together once a beat, because a batch costs little more than one item of it.
 */
export type Pace = {
  /** How long the next turn should wait, in milliseconds; 0 when the last one is long enough ago. */
  leftMs(): number;
  /** A turn begins now. */
  beat(): void;
  /** A turn took so long, in milliseconds. */
  took(turnMs: number): void;
};

/**
 * Makes a pace of one turn in `everyMs`; 0 makes no turn wait. With a `mostMs` above that, turns that
 * take long are fewer: one in twice the time that the last one took, in `mostMs` at the most. Where
 * the processor is short, every turn takes longer, and larger batches are what makes it less short.
 */
export function createPace(
  everyMs: number,
  mostMs = everyMs,
  nowMs: () => number = () => performance.now(),
): Pace {
  let lastMs = Number.NEGATIVE_INFINITY;
  let distanceMs = everyMs;
  return {
    leftMs: () => Math.max(0, Math.ceil(lastMs + distanceMs - nowMs())),
    beat() {
      lastMs = nowMs();
    },
    took(turnMs) {
      distanceMs = Math.max(everyMs, Math.min(mostMs, 2 * turnMs));
    },
  };
}
