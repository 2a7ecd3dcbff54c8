/** Limits how many holders each key has at once. */
export type KeyedSemaphore = {
  /** Runs `work` when its key has a free slot; until then it waits behind others of the same key. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
};

type Slots = { taken: number; readonly waiting: (() => void)[] };

/**
 * At most `max` holders per key; waiters of a key run in order of arrival. One key with much work never blocks
 * another. The number of waiters has no bound here: callers must bound it.
 */
export function createKeyedSemaphore(max: number): KeyedSemaphore {
  const slotsByKey = new Map<string, Slots>();
  return {
    async run(key, work) {
      const slots = slotsByKey.get(key) ?? { taken: 0, waiting: [] };
      slotsByKey.set(key, slots);
      if (slots.taken < max) slots.taken += 1;
      else await new Promise<void>((resolve) => slots.waiting.push(resolve));
      try {
        return await work();
      } finally {
        // Hand the slot to the next waiter, so that a later caller cannot take it first.
        const next = slots.waiting.shift();
        if (next !== undefined) next();
        else slots.taken -= 1;
        if (slots.taken === 0) slotsByKey.delete(key);
      }
    },
  };
}
