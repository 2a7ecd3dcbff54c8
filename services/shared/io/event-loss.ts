/** What a consumer and its stream looked like at one moment. */
export type Look = {
  /** Items that the consumer has not been given. */
  readonly pending: number;
  /** The last item that it was given. */
  readonly deliveredSeq: number;
  /** The first item that the stream still has. */
  readonly firstSeq: number;
};

/**
 * How many items the stream has dropped between two looks that the consumer was still to be given: at most as
 * many as it waited for. A stream that is full, or whose items are too old, drops the oldest, and the
 * consumer's own count of what is left falls as if they had been consumed.
 */
export function lostBetween(before: Look | undefined, now: Look): number {
  if (before === undefined || before.pending === 0) return 0;
  const from = Math.max(now.deliveredSeq + 1, before.firstSeq);
  return Math.max(0, Math.min(now.firstSeq - from, before.pending));
}
