import { pause } from "./backoff.ts";

/** How often the state is read, in milliseconds. Work that ends at a close has no event of its own. */
const POLL_MS = 5;

/** Waits until `isIdle`, or for `limitMs`. For closing, where the last work may never end. */
export async function waitUntilIdle(isIdle: () => boolean, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!isIdle() && performance.now() < deadlineMs) await pause(POLL_MS);
}
