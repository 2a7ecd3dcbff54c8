/**
 * Group commit: callers await their own result; what arrives while a flush is running goes out
 * together in the next one. Nothing waits on a timer when idle, so a lone item costs one write.
 * A batcher that nobody waits for may be given a pace: then batches keep their distance. One that
 * somebody waits for may keep it while a flush is under way: what is alone still goes at once.
 *
 * - Bounded: at most `batchMax` items a flush, `queueMax` items waiting; beyond that `add` fails
 *   at once with `service_unavailable`, before anything was written.
 * - Fair to neighbours: when a flush fails as a whole, its items are tried again one half at a
 *   time, so only the item at fault fails. A failure `isTransient` recognises is not split: every
 *   item fails with it, because each half would meet the same outage.
 * - Ordered where it matters: one flush at a time per batcher (`lanes` of 1) keeps arrival order.
 */
import { AppError } from "../core/errors.ts";
import { createPace } from "./min-interval.ts";
import { runDetached } from "./run-detached.ts";

/** Shape and bounds of a batcher. */
export type BatcherOptions<Item, Result> = {
  /** For error texts and metrics. */
  readonly name: string;
  /** Writes a batch; answers one result per item in order. An `Error` fails that item alone. */
  readonly flush: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>;
  readonly batchMax: number;
  readonly queueMax: number;
  /** How many flushes may run at once. 1 unless set. */
  readonly lanes?: number;
  /** A flush that is not full begins this long after the one before it, in milliseconds. */
  readonly paceMs?: number;
  /** The pace may become so long where flushes take long; see `createPace`. `paceMs` unless set. */
  readonly paceMostMs?: number;
  /** The same, for a flush that would run beside another one; needs `lanes` above 1. */
  readonly besideMs?: number;
  /** What `paceMostMs` is to `paceMs`. */
  readonly besideMostMs?: number;
  /** So many that wait are worth a flush beside another one at once. `batchMax` unless set. */
  readonly besideFrom?: number;
  /** Failures of a whole flush that splitting cannot cure. */
  readonly isTransient?: (error: unknown) => boolean;
};

/** A running batcher. */
export type Batcher<Item, Result> = {
  /** Puts an item into the next flush and answers its own result. */
  add(item: Item): Promise<Result>;
  /** Items waiting for a flush. */
  readonly waiting: number;
  /** Waits until everything added so far is settled; later items are refused. */
  close(): Promise<void>;
};

type Entry<Item, Result> = {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

/** Makes a batcher over a bulk write. */
export function createBatcher<Item, Result>(
  options: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  const { name, batchMax, queueMax, lanes = 1, paceMs = 0, besideMs = 0 } = options;
  const { besideFrom = batchMax } = options;
  const pace = createPace(paceMs, options.paceMostMs);
  const paceBeside = createPace(Math.max(paceMs, besideMs), options.besideMostMs);
  let queue: Entry<Item, Result>[] = [];
  let running = 0;
  let scheduled = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let onIdle: (() => void) | undefined;

  function schedule(): void {
    if (scheduled || running >= lanes || queue.length === 0) return;
    const [kept, enough] = running === 0 ? [pace, batchMax] : [paceBeside, besideFrom];
    const waitMs = closed || queue.length >= enough ? 0 : kept.leftMs();
    if (waitMs > 0) {
      timer ??= setTimeout(runDetached, waitMs, start);
      return;
    }
    scheduled = true;
    // One turn of the event loop lets requests that were read together be written together.
    setImmediate(runDetached, start);
  }

  function start(): void {
    scheduled = false;
    clearTimeout(timer);
    timer = undefined;
    pace.beat();
    paceBeside.beat();
    while (running < lanes && queue.length > 0) {
      const entries = queue.length <= batchMax ? queue : queue.slice(0, batchMax);
      queue = queue.length <= batchMax ? [] : queue.slice(batchMax);
      running += 1;
      void run(entries);
    }
  }

  async function run(entries: Entry<Item, Result>[]): Promise<void> {
    const startedMs = performance.now();
    await settle(entries);
    const durationMs = performance.now() - startedMs;
    pace.took(durationMs);
    paceBeside.took(durationMs);
    running -= 1;
    if (queue.length > 0) schedule();
    else if (running === 0) onIdle?.();
  }

  async function settle(entries: readonly Entry<Item, Result>[]): Promise<void> {
    let results: readonly (Result | Error)[];
    try {
      results = await options.flush(entries.map((entry) => entry.item));
    } catch (error) {
      if (entries.length === 1 || options.isTransient?.(error) === true) {
        for (const entry of entries) entry.reject(error);
        return;
      }
      const middle = entries.length >> 1;
      await settle(entries.slice(0, middle));
      await settle(entries.slice(middle));
      return;
    }
    entries.forEach((entry, position) => {
      const result = results[position];
      if (result instanceof Error) entry.reject(result);
      else entry.resolve(result as Result);
    });
  }

  return {
    add(item) {
      if (closed) return Promise.reject(unavailable(`${name} is closing`));
      if (queue.length >= queueMax) return Promise.reject(unavailable(`${name} queue is full`));
      return new Promise<Result>((resolve, reject) => {
        queue.push({ item, resolve, reject });
        schedule();
      });
    },
    get waiting() {
      return queue.length;
    },
    close() {
      closed = true;
      if (queue.length === 0 && running === 0) return Promise.resolve();
      schedule();
      return new Promise<void>((resolve) => {
        onIdle = resolve;
      });
    },
  };
}

function unavailable(cause: string): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.", { cause });
}
