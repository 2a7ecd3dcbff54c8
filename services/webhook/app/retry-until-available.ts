/** Waiting out an outage of the database, for work that must neither fail nor be forgotten. */

import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";

/** Runs work again and again until the database lets it through. */
export type RetryUntilAvailable = {
  /** Rejects with what no waiting cures, and once waiting has been stopped. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** True while some work is waiting. */
  isStuck(): boolean;
  stop(): void;
};

/** Makes the waiting of one kind of work; `what` names it in the log. */
export function createPatience(what: string, log: Logger): RetryUntilAvailable {
  const stopping = new AbortController();
  let stuck = 0;

  return {
    async run(work) {
      let isWaiting = false;
      try {
        for (let attempt = 0; ; attempt += 1) {
          try {
            return await work();
          } catch (error) {
            if (!isMongoOutage(error) || stopping.signal.aborted) throw error;
            if (!isWaiting) {
              isWaiting = true;
              stuck += 1;
              log.warn({ error, what }, "waiting for the database");
            }
            // Short: the driver has waited for seconds already, and retries fall due meanwhile.
            await pause(backoffMs(attempt, 50, 250), stopping.signal);
          }
        }
      } finally {
        if (isWaiting) stuck -= 1;
      }
    },
    isStuck: () => stuck > 0,
    stop: () => stopping.abort(),
  };
}
