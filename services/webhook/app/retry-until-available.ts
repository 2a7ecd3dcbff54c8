/** Retries through an outage of the database, for work that must neither fail nor be lost. */
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";

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
      try {
        for (let attempt = 0; ; attempt += 1) {
          try {
            return await work();
          } catch (error) {
            if (!isUnavailable(error) || stopping.signal.aborted) throw error;
            if (!isWaiting) {
              isWaiting = true;
              blocked += 1;
              log.warn({ error, what }, "waiting for the database");
            }
            // Short: the driver has waited for seconds, and deliveries become due meanwhile.
            await pause(backoffMs(attempt, 50, 250), stopping.signal);
          }
        }
      } finally {
        if (isWaiting) blocked -= 1;
      }
    },
    isBlocked: () => blocked > 0,
    stop: () => stopping.abort(),
  };
}
