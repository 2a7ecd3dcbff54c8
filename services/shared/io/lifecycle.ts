/**
 * The life of a process:
 *
 *   starting → ready → draining → closed
 *
 * - starting: things are being opened; `/readyz` says no.
 * - ready: entered when every part is open and listening.
 * - draining: entered on SIGTERM or SIGINT; `/readyz` says no at once, load balancers get
 *   `drainDelayMs` to notice, then parts close, last opened first: servers finish what they have
 *   taken, consumers stop, batchers empty, connections end. Nothing accepted is dropped.
 * - closed: the process exits 0. Parts that need longer than `closeTimeoutMs` are left behind
 *   and the process exits 1; what they held is recovered like after a crash.
 */
import type { Logger } from "pino";

/** Which part of its life the process is in. */
export type LifeState = "starting" | "ready" | "draining" | "closed";

/** A question that `/readyz` asks: answers normally when good, throws when not. */
export type ReadinessCheck = () => void | Promise<void>;

/** The process's lifecycle, shared by all services in it. */
export type Lifecycle = {
  readonly state: LifeState;
  /** Aborted when draining begins; loops watch it. */
  readonly signal: AbortSignal;
  /** Registers what says no at once when draining begins, before anything closes. */
  onDrain(sayNo: () => void): void;
  /** Registers something to close; closed in reverse order of registration. */
  onClose(name: string, close: () => void | Promise<void>): void;
  /** Registers a dependency that readiness depends on. */
  addReadinessCheck(name: string, check: ReadinessCheck): void;
  /** Answers the names of the checks that fail now; empty means ready. */
  failingChecks(): Promise<string[]>;
  markReady(): void;
  /** Drains and closes everything, once; answers whether all parts closed in time. */
  close(): Promise<boolean>;
};

/** Makes a lifecycle; `installSignalHandlers` ties it to the process. */
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
    for (const sayNo of drainers) sayNo();
    if (options.drainDelayMs > 0) await delay(options.drainDelayMs);
    abort.abort();
    const deadlineMs = performance.now() + options.closeTimeoutMs;
    let clean = true;
    for (const { name, close } of closers.reverse()) {
      try {
        await within(Math.max(0, deadlineMs - performance.now()), close());
      } catch (error) {
        clean = false;
        log.error({ error, part: name }, "a part did not close");
      }
    }
    state = "closed";
    log.info({ clean }, "closed");
    return clean;
  }

  return {
    get state() {
      return state;
    },
    signal: abort.signal,
    onDrain: (sayNo) => void drainers.push(sayNo),
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

/** Drains on SIGTERM and SIGINT, and exits; a bug that nobody caught is logged and fatal. */
export function installSignalHandlers(lifecycle: Lifecycle, log: Logger): void {
  const end = () => {
    void lifecycle.close().then((clean) => {
      log.flush?.();
      process.exitCode = clean ? 0 : 1;
      // Whatever still holds the event loop open must not outlive the drain.
      setTimeout(() => process.exit(), 200).unref();
    });
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    // Until here it ended the process at once (`main.ts`).
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

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function within(limitMs: number, work: void | Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
