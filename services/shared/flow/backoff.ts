/** Exponential backoff with jitter: between half and all of min(cap, base × 2^attempt). */
export function backoffMs(attempt: number, baseMs: number, capMs: number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(attempt, 20));
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

/** Waits, or returns early when the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** The result of work, or undefined after `ms`; the work then continues and its result is ignored. */
export async function answerWithin<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const expired = Promise.withResolvers<undefined>();
  const timer = setTimeout(expired.resolve, ms, undefined);
  try {
    return await Promise.race([work, expired.promise]);
  } finally {
    clearTimeout(timer);
  }
}
