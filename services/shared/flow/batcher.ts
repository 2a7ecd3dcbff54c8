/**
 * Group commit: each caller awaits its own result, and items that arrive during a flush leave together in the
 * next one. An idle batcher flushes a lone item at once, so one item costs one write.
 *
 * - Bounded: at most `batchMax` items per flush and `queueMax` waiting items. Beyond that `add` fails at once
 *   with `service_unavailable`, before anything is written.
 * - One bad item fails alone: a failed flush is split into halves (`isolateFailingItems`). An error that
 *   `isTransient` accepts is not split and fails every item.
 * - Ordered: with a `concurrency` of 1, items are written in order of arrival.
 * - Background batchers can set `minIntervalMs`, which makes batches larger.
 */
import { AppError } from "../core/errors.ts";
import { isolateFailingItems } from "./isolate-failing-items.ts";
import { createMinInterval } from "./min-interval.ts";
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
  readonly concurrency?: number;
  /** The minimum time between the starts of flushes that are not full, in milliseconds. 0 unless set. */
  readonly minIntervalMs?: number;
  /** The interval grows with the duration of flushes, up to this; see `createMinInterval`. */
  readonly maxIntervalMs?: number;
  /** Ignore the interval while no flush is running; useful with a `concurrency` above 1. */
  readonly flushesWhenIdle?: boolean;
  /** Ignore the interval while no flush is running and the last one had a single item. */
  readonly flushesAfterOne?: boolean;
  /** This many waiting items end the interval. `batchMax` unless set. */
  readonly fullAt?: number;
  /** Failures of a whole flush that splitting cannot cure. */
  readonly isTransient?: (error: unknown) => boolean;
};

/** A running batcher. */
export type Batcher<Item, Result> = {
  /** Adds an item to the next flush and answers its own result. */
  add(item: Item): Promise<Result>;
  /** Items that wait for a flush. */
  readonly waiting: number;
  /** Refuses later items, and waits until every earlier one has its result. */
  close(): Promise<void>;
};

type Entry<Item, Result> = {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

/** Batches items for a bulk write. */
export function createBatcher<Item, Result>(
  options: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  const { name, batchMax, queueMax, concurrency = 1, fullAt = batchMax } = options;
  const interval = createMinInterval(options.minIntervalMs ?? 0, options.maxIntervalMs);
  let queue: Entry<Item, Result>[] = [];
  let running = 0;
  let lastSize = 0;
  let isScheduled = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let onIdle: (() => void) | undefined;

  function schedule(): void {
    if (isScheduled || running >= concurrency || queue.length === 0) return;
    const waitMs = mayStartNow() ? 0 : interval.waitMs();
    if (waitMs > 0) {
      timer ??= setTimeout(runDetached, waitMs, start);
      return;
    }
    isScheduled = true;
    // Wait for the next event-loop tick: requests that were read together are written together.
    setImmediate(runDetached, start);
  }

  function mayStartNow(): boolean {
    if (isClosed || queue.length >= fullAt) return true;
    if (running > 0) return false;
    return options.flushesWhenIdle === true || (options.flushesAfterOne === true && lastSize <= 1);
  }

  function start(): void {
    isScheduled = false;
    clearTimeout(timer);
    timer = undefined;
    interval.start();
    while (running < concurrency && queue.length > 0) {
      const entries = queue.length <= batchMax ? queue : queue.slice(0, batchMax);
      queue = queue.length <= batchMax ? [] : queue.slice(batchMax);
      running += 1;
      lastSize = entries.length;
      void run(entries);
    }
  }

  async function run(entries: Entry<Item, Result>[]): Promise<void> {
    const startedMs = performance.now();
    await isolateFailingItems(entries, {
      run: flush,
      canSplit: (error) => options.isTransient?.(error) !== true,
      onFailure(failed, error) {
        for (const entry of failed) entry.reject(error);
      },
    });
    interval.finish(performance.now() - startedMs);
    running -= 1;
    if (queue.length > 0) schedule();
    else if (running === 0) onIdle?.();
  }

  async function flush(entries: readonly Entry<Item, Result>[]): Promise<void> {
    const results = await options.flush(entries.map((entry) => entry.item));
    entries.forEach((entry, position) => {
      const result = results[position];
      if (result instanceof Error) entry.reject(result);
      else entry.resolve(result as Result);
    });
  }

  return {
    add(item) {
      if (isClosed) return Promise.reject(unavailable(`${name} is closing`));
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
      isClosed = true;
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
