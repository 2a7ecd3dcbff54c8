import type { Logger } from "../core/logger.ts";
import { backoffMs, pause } from "./backoff.ts";

/** Background work that runs at an interval: a sweeper, a poller. */
export type Loop = {
  /** Ends the current wait, so that the work runs now. */
  nudge(): void;
  /** Stops, after the run in progress. */
  close(): Promise<void>;
};

/**
 * Runs `work` every `intervalMs`, one run at a time. `work` answers whether there is more to do: then it runs
 * again at once. A failure is logged and retried with backoff; it never ends the loop.
 */
export function startLoop(options: {
  readonly name: string;
  /** A function is asked after each run. */
  readonly intervalMs: number | (() => number);
  /** The longest wait after failures; 10 s or `intervalMs`, the longer of the two, unless set. */
  readonly retryMaxMs?: number;
  readonly log: Logger;
  readonly work: (signal: AbortSignal) => Promise<boolean>;
}): Loop {
  const { name, log, work } = options;
  const interval = options.intervalMs;
  const intervalMs = typeof interval === "function" ? interval : () => interval;
  const retryMaxMs = options.retryMaxMs ?? Math.max(intervalMs(), 10_000);
  const abort = new AbortController();
  /** Ends the current wait. A signal made from two would live on until the second garbage collection. */
  let wake = new AbortController();

  async function run(): Promise<void> {
    let failures = 0;
    while (!abort.signal.aborted) {
      wake = new AbortController();
      let waitMs: number;
      try {
        waitMs = (await work(abort.signal)) ? 0 : intervalMs();
        failures = 0;
      } catch (error) {
        failures += 1;
        waitMs = backoffMs(failures, 100, retryMaxMs);
        if (!abort.signal.aborted) log.warn({ error, loop: name, failures }, "a run failed");
      }
      if (waitMs > 0) await pause(waitMs, wake.signal);
    }
  }

  const finished = run();
  return {
    nudge: () => wake.abort(),
    async close() {
      abort.abort();
      wake.abort();
      await finished;
    },
  };
}
