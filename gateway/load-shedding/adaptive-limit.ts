/** One window of measurements. */
export type LoadWindow = {
  /** Requests that finished. */
  readonly finished: number;
  /** Mean number of requests in progress. */
  readonly meanRunning: number;
  readonly durationMs: number;
};

/** Bounds of the limit. */
export type LimitBounds = {
  readonly requestsMin: number;
  readonly requestsMax: number;
  /** How long an admitted request may wait for the requests ahead of it. */
  readonly delayMaxMs: number;
};

/**
 * How many requests may be in progress, from the last window. With few requests there is no queue, and the
 * limit is `requestsMax`. With a queue a new request waits for those ahead of it: their number divided by the
 * rate at which they finish (Little's law). The limit is therefore the number that finishes within
 * `delayMaxMs`; more requests would only wait longer.
 */
export function nextLimit(window: LoadWindow, bounds: LimitBounds): number {
  const { requestsMin, requestsMax, delayMaxMs } = bounds;
  // Half of the minimum, because a group commit finishes hundreds of requests at once.
  if (window.durationMs <= 0 || window.meanRunning < requestsMin / 2) return requestsMax;
  const finishedInDelay = (window.finished * delayMaxMs) / window.durationMs;
  return Math.min(requestsMax, Math.max(requestsMin, Math.round(finishedInDelay)));
}
