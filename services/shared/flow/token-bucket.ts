/** A budget that refills steadily, up to its capacity. */
export type TokenBucket = {
  /** Takes `cost` tokens; false, and nothing taken, when there are fewer. */
  take(cost: number): boolean;
};

/** Starts full. */
export function createTokenBucket(
  capacity: number,
  perSecond: number,
  nowMs: () => number = () => performance.now(),
): TokenBucket {
  let tokens = capacity;
  let countedAtMs = nowMs();
  return {
    take(cost) {
      const now = nowMs();
      tokens = Math.min(capacity, tokens + ((now - countedAtMs) * perSecond) / 1000);
      countedAtMs = now;
      if (tokens < cost) return false;
      tokens -= cost;
      return true;
    },
  };
}
