import { AppError } from "../../services/shared/core/errors.ts";
import { nextLimit } from "./adaptive-limit.ts";

/** Admits requests up to an adaptive concurrency limit and refuses the rest at once. */
export type LoadLimiter = {
  hasCapacity(): boolean;
  /** How many more requests would be admitted now. */
  remainingCapacity(): number;
  /** Counts a request in; throws `service_unavailable`, and counts nothing, at the limit. */
  acquire(): void;
  /** Counts an admitted request out. */
  release(): void;
  close(): void;
};

/** How often the event loop lag and the requests in progress are sampled. */
const SAMPLE_MS = 100;

/** Samples in a window. A window is longer than a pause of the database. */
const WINDOW_SAMPLES = 5;

/** Weight of the newest sample in the smoothed lag: one long pause alone refuses nothing. */
const SMOOTHING = 0.3;

/** The limit is never lower: fewer requests in progress are no overload, however slow they are. */
const REQUESTS_MIN = 512;

/**
 * Load shedding. Work beyond the capacity of the process must not queue, or every client gets a late response
 * instead of most getting one in time. Two signals are used: requests in progress against the limit
 * (`adaptive-limit.ts`), and the smoothed lag of the event loop. A refusal is cheap (`fast-503.ts`), so the process
 * recovers while it refuses.
 */
export function createLoadLimiter(options: {
  readonly requestsMax: number;
  readonly delayMaxMs: number;
  readonly lagMaxMs: number;
}): LoadLimiter {
  const { requestsMax, delayMaxMs, lagMaxMs } = options;
  const bounds = { requestsMin: Math.min(REQUESTS_MIN, requestsMax), requestsMax, delayMaxMs };
  let running = 0;
  let limit = requestsMax;
  let lagMs = 0;
  let dueMs = performance.now() + SAMPLE_MS;
  let window = { fromMs: performance.now(), finished: 0, samples: 0, runningSum: 0 };

  const timer = setInterval(() => {
    const nowMs = performance.now();
    lagMs = lagMs * (1 - SMOOTHING) + Math.max(0, nowMs - dueMs) * SMOOTHING;
    dueMs = nowMs + SAMPLE_MS;
    window.samples += 1;
    window.runningSum += running;
    if (window.samples < WINDOW_SAMPLES) return;
    const { finished, samples, runningSum, fromMs } = window;
    const meanRunning = runningSum / samples;
    limit = nextLimit({ finished, meanRunning, durationMs: nowMs - fromMs }, bounds);
    window = { fromMs: nowMs, finished: 0, samples: 0, runningSum: 0 };
  }, SAMPLE_MS);
  timer.unref();

  const remainingCapacity = () => (lagMs <= lagMaxMs ? Math.max(0, limit - running) : 0);
  const hasCapacity = () => remainingCapacity() > 0;
  return {
    hasCapacity,
    remainingCapacity,
    acquire() {
      if (!hasCapacity()) throw serviceBusy();
      running += 1;
    },
    release() {
      running -= 1;
      window.finished += 1;
    },
    close: () => clearInterval(timer),
  };
}

/** The error of a request that is refused under overload. */
export function serviceBusy(): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.");
}
