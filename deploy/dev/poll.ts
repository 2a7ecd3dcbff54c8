import { setTimeout as sleep } from "node:timers/promises";

/**
 * Calls `probe` every `everyMs` until it gives a value other than undefined or false, and gives that
 * value; undefined when the time is over.
 */
export async function pollUntil<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs: number,
  everyMs = 25,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() >= deadline) return undefined;
    await sleep(everyMs);
  }
}
