import { AppError } from "../services/shared/core/errors.ts";

/** Lets requests in while there is room, and refuses the rest at once. */
export type LoadGate = {
  /** Counts a request in; throws `service_unavailable` when there is no room (it counts anyway). */
  enter(): void;
  leave(): void;
  close(): void;
};

/** How often the event loop's lateness is sampled, in milliseconds. */
const SAMPLE_MS = 100;

/** Share of the newest sample in the smoothed lateness: one long pause alone sheds nothing. */
const SMOOTHING = 0.3;

/**
 * Work beyond what the process can do must not queue: it would answer everyone late instead of
 * most in time. Two signs are watched: requests in progress, and how late the event loop's timer
 * comes. Shed requests cost nearly nothing, so the process recovers while they are refused.
 */
export function createLoadGate(options: {
  readonly requestsMax: number;
  readonly lagMaxMs: number;
}): LoadGate {
  const { requestsMax, lagMaxMs } = options;
  let running = 0;
  let lagMs = 0;
  let dueMs = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lagMs = lagMs * (1 - SMOOTHING) + Math.max(0, nowMs - dueMs) * SMOOTHING;
    dueMs = nowMs + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();

  return {
    enter() {
      running += 1;
      if (running > requestsMax || lagMs > lagMaxMs) {
        throw new AppError("service_unavailable", "The service is busy; try again shortly.");
      }
    },
    leave() {
      running -= 1;
    },
    close: () => clearInterval(timer),
  };
}
