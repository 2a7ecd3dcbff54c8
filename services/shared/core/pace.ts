/**
 * A beat for work that nobody waits for. What comes alone is done at once; what comes while there is
 * much to do is done together once a beat, because a batch costs little more than one item of it.
 */
export type Pace = {
  /** How long the next turn should wait, in milliseconds; 0 when the last one is long enough ago. */
  leftMs(): number;
  /** A turn begins now. */
  beat(): void;
};

/** Makes a pace of one turn in `everyMs`; 0 makes no turn wait. */
export function createPace(everyMs: number, nowMs: () => number = () => performance.now()): Pace {
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    leftMs: () => Math.max(0, Math.ceil(lastMs + everyMs - nowMs())),
    beat() {
      lastMs = nowMs();
    },
  };
}
