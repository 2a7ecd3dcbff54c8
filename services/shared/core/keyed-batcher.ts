/**
 * One batcher per key: one flush in flight per key keeps order where it matters (a wallet),
 * while different keys flush side by side. Idle keys are dropped, so memory follows the load.
 */
import { type BatcherOptions, createBatcher } from "./batcher.ts";
import { AppError } from "./errors.ts";

/** A batcher's options, with the key handed to each flush. */
export type KeyedBatcherOptions<Item, Result> = Omit<BatcherOptions<Item, Result>, "flush"> & {
  readonly flush: (key: string, items: readonly Item[]) => Promise<readonly (Result | Error)[]>;
  /** Bound over all keys together. */
  readonly totalMax: number;
};

/** A running family of batchers. */
export type KeyedBatcher<Item, Result> = {
  add(key: string, item: Item): Promise<Result>;
  /** Items in flight or waiting over all keys. */
  readonly pending: number;
  close(): Promise<void>;
};

/** Makes a keyed batcher over a bulk write per key. */
export function createKeyedBatcher<Item, Result>(
  options: KeyedBatcherOptions<Item, Result>,
): KeyedBatcher<Item, Result> {
  const batchers = new Map<string, { batcher: ReturnType<typeof make>; users: number }>();
  let pending = 0;
  let closed = false;

  function make(key: string) {
    return createBatcher<Item, Result>({
      ...options,
      flush: (items) => options.flush(key, items),
    });
  }

  return {
    async add(key, item) {
      if (closed || pending >= options.totalMax) {
        throw new AppError("service_unavailable", "The service is busy; try again shortly.", {
          cause: `${options.name}: ${closed ? "closing" : "too many items in all"}`,
        });
      }
      let slot = batchers.get(key);
      if (slot === undefined) {
        slot = { batcher: make(key), users: 0 };
        batchers.set(key, slot);
      }
      slot.users += 1;
      pending += 1;
      try {
        return await slot.batcher.add(item);
      } finally {
        pending -= 1;
        slot.users -= 1;
        if (slot.users === 0) batchers.delete(key);
      }
    },
    get pending() {
      return pending;
    },
    async close() {
      closed = true;
      await Promise.all([...batchers.values()].map((slot) => slot.batcher.close()));
    },
  };
}
