/** What was seen of a stretch of time: requests finished, and how many were in progress on average. */
export type LoadWindow = {
  readonly finished: number;
  readonly meanRunning: number;
  readonly durationMs: number;
};

/** The bounds within which room is given. */
export type LimitBounds = {
  readonly requestsMin: number;
  readonly requestsMax: number;
  /** How long a request that is let in may wait for those before it. */
  readonly delayMaxMs: number;
};

/**
 * How many requests may be in progress at once, judged by the last window. While few are, there
 * is no queue and the room is all there may be. When there is a queue, a new request waits for
 * those before it: their number over the rate at which they finish (Little's law). So the room is
 * what finishes within the delay that is tolerable; what comes beyond would only wait longer.
 */
export function nextLimit(window: LoadWindow, bounds: LimitBounds): number {
  const { requestsMin, requestsMax, delayMaxMs } = bounds;
  // Half of it, because a group commit ends hundreds of requests at one stroke.
  if (window.durationMs <= 0 || window.meanRunning < requestsMin / 2) return requestsMax;
  const finishedInDelay = (window.finished * delayMaxMs) / window.durationMs;
  return Math.min(requestsMax, Math.max(requestsMin, Math.round(finishedInDelay)));
}
