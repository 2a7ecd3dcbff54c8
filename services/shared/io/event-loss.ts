/** What a consumer of a whole stream and the stream look like at one moment. */
export type Look = {
  /** The last item that the consumer was given; 0 before the first. */
  readonly deliveredSeq: number;
  /** The first item that the stream still has. */
  readonly firstSeq: number;
};

/**
 * Counts items that the stream has dropped before its consumer was given them, each once: those between the
 * last that it was given and the first that is left. A stream that is full drops the oldest, and the
 * consumer's own count of what is left falls as if they had been consumed.
 */
export function createLossCount(): (look: Look) => number {
  let countedTo = 0;
  return ({ deliveredSeq, firstSeq }) => {
    // A consumer that is new begins with what there is.
    const from = deliveredSeq === 0 ? firstSeq : Math.max(deliveredSeq + 1, countedTo);
    countedTo = Math.max(countedTo, firstSeq);
    return Math.max(0, firstSeq - from);
  };
}
