import { AppError } from "../../services/shared/core/errors.ts";
import { nextLimit } from "./limit.ts";

/** Lets requests in while there is room, and refuses the rest at once. */
export type LoadLimiter = {
  /** Whether a request would be let in now. */
  hasCapacity(): boolean;
  /** How many more would be. */
  remainingCapacity(): number;
  /** Counts a request in; throws `service_unavailable`, and counts nothing, when there is no room. */
  enter(): void;
  /** Counts out a request that was let in. */
  leave(): void;
  close(): void;
};

/** How often the event loop's lateness and the requests in progress are sampled, in milliseconds. */
const SAMPLE_MS = 100;

/** Samples after which the room is judged anew: a pause of the database is shorter than this. */
const WINDOW_SAMPLES = 5;

/** Share of the newest sample in the smoothed lateness: one long pause alone sheds nothing. */
const SMOOTHING = 0.3;

/** Room that is never taken away: fewer requests in progress are no overload, however slow. */
const REQUESTS_MIN = 512;

/**
 * Work beyond what the process can do must not queue: it would answer everyone late instead of
 * most in time. Two signs are watched: requests in progress, against the room for them
 * (`room.ts`), and how late the event loop's timer comes. Fast503 requests cost little (`shed.ts`),
 * so the process recovers while they are refused.
 */
export function createLoadLimiter(options: {
  readonly requestsMax: number;
  readonly delayMaxMs: number;
  readonly lagMaxMs: number;
}): LoadLimiter {
  const { requestsMax, delayMaxMs, lagMaxMs } = options;
  const bounds = { requestsMin: Math.min(REQUESTS_MIN, requestsMax), requestsMax, delayMaxMs };
  let running = 0;
  let room = requestsMax;
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
    room = nextLimit({ finished, meanRunning, durationMs: nowMs - fromMs }, bounds);
    window = { fromMs: nowMs, finished: 0, samples: 0, runningSum: 0 };
  }, SAMPLE_MS);
  timer.unref();

  const remainingCapacity = () => (lagMs <= lagMaxMs ? Math.max(0, room - running) : 0);
  const hasCapacity = () => remainingCapacity() > 0;
  return {
    hasCapacity,
    remainingCapacity,
    enter() {
      if (!hasCapacity()) throw serviceBusy();
      running += 1;
    },
    leave() {
      running -= 1;
      window.finished += 1;
    },
    close: () => clearInterval(timer),
  };
}

/** What a request is told that there is no room for. */
export function serviceBusy(): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.");
}
