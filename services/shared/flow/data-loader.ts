import { createBatcher } from "./batcher.ts";

/** A batch that is not full leaves this long after the one before it, unless the caller sets another. */
const MIN_INTERVAL_MS = 5;
const CONCURRENCY = 4;
const QUEUE_MAX = 8192;

/**
 * Loads values by key, with one call for many keys: with thousands of tenants that send now and then, a call
 * for each key would cost more than the sends. A lone key leaves at once. `load` answers one result per
 * key, in order; an `Error` fails that key alone, and a failed call fails all its keys.
 */
export function createDataLoader<Key, Value>(options: {
  readonly name: string;
  /** Keys in one call. */
  readonly batchMax: number;
  /** The minimum time between calls that are not full, in milliseconds. */
  readonly minIntervalMs?: number;
  readonly load: (keys: readonly Key[]) => Promise<readonly (Value | Error)[]>;
}): (key: Key) => Promise<Value> {
  const batcher = createBatcher<Key, Value>({
    name: options.name,
    batchMax: options.batchMax,
    queueMax: QUEUE_MAX,
    concurrency: CONCURRENCY,
    minIntervalMs: options.minIntervalMs ?? MIN_INTERVAL_MS,
    // A failed read is not split: the caller asks again, and each half would meet the same outage.
    isTransient: () => true,
    flush: options.load,
  });
  return (key) => batcher.add(key);
}
