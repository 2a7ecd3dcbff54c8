import type { Redis } from "./redis.ts";

/** How long Redis is not called after a failure, so that requests do not wait for it. */
const PAUSE_MS = 1000;

/** The pause of one part of the process that uses Redis and has a fallback. */
export type RedisPause = {
  /** Call it after a failed call. */
  begin(): void;
  isPaused(): boolean;
  /** Whether to do without Redis now: it is paused, or not connected. */
  isAway(): boolean;
};

export function createRedisPause(redis: Pick<Redis, "status">): RedisPause {
  let untilMs = 0;
  const isPaused = () => performance.now() < untilMs;
  return {
    begin() {
      untilMs = performance.now() + PAUSE_MS;
    },
    isPaused,
    isAway: () => redis.status !== "ready" || isPaused(),
  };
}
