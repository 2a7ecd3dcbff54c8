/**
 * Keeps a minimum interval between the starts of repeated work. Work that arrives alone starts at once; work
 * that arrives in between waits and is done together, because a batch costs little more than one item.
 */
export type MinInterval = {
  /** How long the next start must wait, in milliseconds; 0 when the last start is long enough ago. */
  waitMs(): number;
  /** Records a start. */
  start(): void;
  /** Records how long the work took, in milliseconds. */
  finish(durationMs: number): void;
};

/**
 * Keeps `minMs` between starts; 0 never waits. A function is asked at each wait. With a larger `maxMs` the interval is
 * twice the last duration, between the two: on a busy processor all work takes longer, and larger batches relieve it.
 */
export function createMinInterval(
  minMs: number | (() => number),
  maxMs = 0,
  nowMs: () => number = () => performance.now(),
): MinInterval {
  const minimum = typeof minMs === "function" ? minMs : () => minMs;
  let lastStartMs = Number.NEGATIVE_INFINITY;
  let lastDurationMs = 0;
  return {
    waitMs() {
      const intervalMs = Math.max(minimum(), Math.min(maxMs, 2 * lastDurationMs));
      return Math.max(0, Math.ceil(lastStartMs + intervalMs - nowMs()));
    },
    start() {
      lastStartMs = nowMs();
    },
    finish(durationMs) {
      lastDurationMs = durationMs;
    },
  };
}
