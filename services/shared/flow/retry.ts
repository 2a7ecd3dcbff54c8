import { backoffMs, pause } from "./backoff.ts";

/** When to retry, and when to stop. */
export type RetryOptions = {
  /** The first wait is at most this long, in milliseconds; each later one twice the one before. */
  readonly baseMs: number;
  readonly capMs: number;
  /** An abort ends the wait; one last attempt follows. */
  readonly signal?: AbortSignal | undefined;
  /** Attempts in total; unlimited unless set. */
  readonly attemptsMax?: number;
  /** No attempt starts after this long, in milliseconds; unlimited unless set. */
  readonly limitMs?: number;
  /** Errors worth another attempt; all of them unless set. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Called before each wait. Attempts count from 0. */
  readonly onRetry?: (error: unknown, attempt: number) => void;
};

/** Runs work until it succeeds, with exponential backoff; rejects with the last error. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { signal, attemptsMax = Number.POSITIVE_INFINITY, isRetryable = () => true } = options;
  const deadlineMs = performance.now() + (options.limitMs ?? Number.POSITIVE_INFINITY);
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isLast = attempt + 1 >= attemptsMax || performance.now() > deadlineMs;
      if (isLast || signal?.aborted === true || !isRetryable(error)) throw error;
      options.onRetry?.(error, attempt);
      await pause(backoffMs(attempt, options.baseMs, options.capMs), signal);
    }
  }
}
