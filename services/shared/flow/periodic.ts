import type { Logger } from "../core/logger.ts";
import { backoffMs, pause } from "./backoff.ts";

/** A repeated piece of background work: a sweeper, a poller, a consumer. */
export type Loop = {
  /** Runs the work soon instead of after the rest of the interval. */
  nudge(): void;
  /** Waits for the run in progress, and stops. */
  close(): Promise<void>;
};

/**
 * Runs `work` again and again, `intervalMs` apart, one at a time. `work` answers whether more is
 * waiting: then it runs again at once. A failure is logged and backed off, never fatal: the
 * next run starts from what the database says.
 */
export function startLoop(options: {
  readonly name: string;
  readonly intervalMs: number;
  /** The longest wait after failures; ten seconds, or a longer interval, unless said. */
  readonly retryMaxMs?: number;
  readonly log: Logger;
  readonly work: (signal: AbortSignal) => Promise<boolean>;
}): Loop {
  const { name, intervalMs, log, work } = options;
  const retryMaxMs = options.retryMaxMs ?? Math.max(intervalMs, 10_000);
  const abort = new AbortController();
  let wake = new AbortController();

  async function run(): Promise<void> {
    let failures = 0;
    while (!abort.signal.aborted) {
      wake = new AbortController();
      let waitMs = intervalMs;
      try {
        if (await work(abort.signal)) waitMs = 0;
        failures = 0;
      } catch (error) {
        failures += 1;
        waitMs = backoffMs(failures, 100, retryMaxMs);
        if (!abort.signal.aborted) log.warn({ error, loop: name, failures }, "a run failed");
      }
      if (waitMs > 0) await pause(waitMs, AbortSignal.any([abort.signal, wake.signal]));
    }
  }

  const finished = run();
  return {
    nudge: () => wake.abort(),
    async close() {
      abort.abort();
      await finished;
    },
  };
}
