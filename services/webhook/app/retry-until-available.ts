/** Retries through an outage of the database, for work that must neither fail nor be lost. */
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { retry } from "../../shared/flow/retry.ts";

export type RetryUntilAvailable = {
  /** Rejects with errors other than outages, and after `stop`. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** True while any work waits for the database. */
  isBlocked(): boolean;
  stop(): void;
};

/** `what` names the work in the log. */
export function createRetryUntilAvailable(what: string, log: Logger): RetryUntilAvailable {
  const stopping = new AbortController();
  let blocked = 0;

  return {
    async run(work) {
      let isWaiting = false;
      const onRetry = (error: unknown): void => {
        if (isWaiting) return;
        isWaiting = true;
        blocked += 1;
        log.warn({ error, what }, "waiting for the database");
      };
      try {
        // Short waits: the driver has waited for seconds, and deliveries become due meanwhile.
        const limits = { baseMs: 50, capMs: 250, signal: stopping.signal };
        return await retry(work, { ...limits, isRetryable: isUnavailable, onRetry });
      } finally {
        if (isWaiting) blocked -= 1;
      }
    },
    isBlocked: () => blocked > 0,
    stop: () => stopping.abort(),
  };
}
