import { setTimeout as sleep } from "node:timers/promises";

/**
 * Calls `probe` every `everyMs` until it returns a value other than undefined or false, and returns that
 * value; undefined after the timeout. The waits grow by a half up to `everyMaxMs`.
 */
export async function pollUntil<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs: number,
  everyMs = 25,
  everyMaxMs = everyMs,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  let waitMs = everyMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() >= deadline) return undefined;
    await sleep(waitMs);
    waitMs = Math.min(everyMaxMs, waitMs * 1.5);
  }
}
