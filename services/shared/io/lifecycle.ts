/**
 * The states of a process:
 *
 *   starting → ready → draining → closed
 *
 * - starting: parts are being opened; `/readyz` fails.
 * - ready: entered when every part is open and listening.
 * - draining: entered on SIGTERM or SIGINT. `/readyz` fails at once; load balancers get `drainDelayMs` to
 *   notice; then parts close, last opened first: servers finish accepted work, consumers stop, batchers empty,
 *   connections close. No accepted work is dropped.
 * - closed: the process exits with 0. When parts need longer than `closeTimeoutMs`, it leaves them and exits
 *   with 1; their work is recovered as after a crash.
 */
import type { Logger } from "pino";
import { answerWithin, pause } from "../flow/backoff.ts";

/** The state of the process. */
export type LifeState = "starting" | "ready" | "draining" | "closed";

/** A check for `/readyz`; throws when it fails. */
export type ReadinessCheck = () => void | Promise<void>;

/** The lifecycle, shared by all services of the process. */
export type Lifecycle = {
  readonly state: LifeState;
  /** Aborted when draining begins; background loops watch it. */
  readonly signal: AbortSignal;
  /** Registers a callback for the start of draining, before any part closes. */
  onDrain(callback: () => void): void;
  /** Registers a part to close; parts close in reverse order of registration. */
  onClose(name: string, close: () => void | Promise<void>): void;
  /** Registers a dependency of readiness. */
  addReadinessCheck(name: string, check: ReadinessCheck): void;
  /** The names of the failing checks; empty means ready. */
  failingChecks(): Promise<string[]>;
  markReady(): void;
  /** Drains and closes everything, once; returns whether all parts closed in time. */
  close(): Promise<boolean>;
};

/** Creates a lifecycle; `installSignalHandlers` connects it to the process. */
export function createLifecycle(options: {
  readonly log: Logger;
  readonly drainDelayMs: number;
  readonly closeTimeoutMs: number;
}): Lifecycle {
  const { log } = options;
  const closers: { name: string; close: () => void | Promise<void> }[] = [];
  const drainers: (() => void)[] = [];
  const checks: { name: string; check: ReadinessCheck }[] = [];
  const abort = new AbortController();
  let state: LifeState = "starting";
  let closing: Promise<boolean> | undefined;

  async function closeAll(): Promise<boolean> {
    state = "draining";
    log.info("draining");
    for (const callback of drainers) callback();
    if (options.drainDelayMs > 0) await pause(options.drainDelayMs);
    abort.abort();
    const deadlineMs = performance.now() + options.closeTimeoutMs;
    let isClean = true;
    for (const { name, close } of closers.reverse()) {
      try {
        await within(Math.max(0, deadlineMs - performance.now()), close());
      } catch (error) {
        isClean = false;
        log.error({ error, part: name }, "a part did not close");
      }
    }
    state = "closed";
    log.info({ clean: isClean }, "closed");
    return isClean;
  }

  return {
    get state() {
      return state;
    },
    signal: abort.signal,
    onDrain: (callback) => void drainers.push(callback),
    onClose: (name, close) => void closers.push({ name, close }),
    addReadinessCheck: (name, check) => void checks.push({ name, check }),
    async failingChecks() {
      if (state !== "ready") return [state];
      const results = await Promise.allSettled(
        checks.map(({ check }) => within(2000, Promise.resolve().then(check))),
      );
      return checks.flatMap(({ name }, at) => (results[at]?.status === "rejected" ? [name] : []));
    },
    markReady() {
      if (state === "starting") state = "ready";
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** Drains on SIGTERM and SIGINT, then exits. Logs an uncaught exception and exits at once. */
export function installSignalHandlers(lifecycle: Lifecycle, log: Logger): void {
  const end = () => {
    void lifecycle.close().then((clean) => {
      log.flush?.();
      process.exitCode = clean ? 0 : 1;
      // Handles that still keep the event loop alive must not outlive the drain.
      setTimeout(() => process.exit(), 200).unref();
    });
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    // Replaces the handlers of `main.ts`, which end the process at once.
    process.removeAllListeners(signal);
    process.once(signal, end);
  }
  process.on("uncaughtException", (error) => {
    log.fatal({ error }, "uncaught exception");
    log.flush?.();
    process.exit(70);
  });
  process.on("unhandledRejection", (error) => {
    log.fatal({ error }, "unhandled rejection");
    log.flush?.();
    process.exit(70);
  });
}

async function within(limitMs: number, work: void | Promise<void>): Promise<void> {
  const done = Promise.resolve(work).then(() => true);
  if ((await answerWithin(done, limitMs)) === undefined) {
    throw new Error(`not done within ${limitMs} ms`);
  }
}
