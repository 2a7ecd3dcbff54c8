import { startDeadlineTimer } from "./deadline-timer.ts";

/** Limits the weight that holders have at once, in total and for each key. */
export type WeightedSemaphore = {
  /**
   * Resolves to the function that gives the weight back (calls after the first do nothing), or to undefined when
   * the weight was not free within the wait, or too many of the key wait already.
   */
  acquire(key: string, weight: number): Promise<(() => void) | undefined>;
};

type Waiter = { readonly weight: number; readonly resolve: (isHeld: boolean) => void };
type Entry = { held: number; readonly waiting: Waiter[] };

/**
 * Waiters of a key are served in order of arrival, and keys in turn. A weight above a limit is held alone. A waiter
 * never overtakes an earlier waiter of its key. While the key whose turn it is waits for the total alone, no other key
 * is served: otherwise small weights would keep a large one out for ever.
 */
export function createWeightedSemaphore(options: {
  readonly totalMax: number;
  readonly keyMax: number;
  readonly waitersMax: number;
  readonly waitMaxMs: number;
}): WeightedSemaphore {
  const { totalMax, keyMax, waitersMax, waitMaxMs } = options;
  /** The keys with holders or waiters, in the order of their turns. */
  const entries = new Map<string, Entry>();
  let total = 0;

  const fits = (held: number, weight: number, max: number) => held === 0 || held + weight <= max;

  function hold(key: string, entry: Entry, weight: number): () => void {
    entry.held += weight;
    total += weight;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      entry.held -= weight;
      total -= weight;
      if (entry.held === 0 && entry.waiting.length === 0) entries.delete(key);
      serve();
    };
  }

  /** Whether a waiter waits for the total alone. */
  const isTotalAwaited = () =>
    entries
      .values()
      .some(
        ({ held, waiting: [first] }) => first !== undefined && fits(held, first.weight, keyMax),
      );

  function serve(): void {
    for (const [key, entry] of [...entries]) {
      const [first] = entry.waiting;
      if (first === undefined || !fits(entry.held, first.weight, keyMax)) continue;
      if (!fits(total, first.weight, totalMax)) return;
      entry.waiting.shift();
      // The key moves to the end of the queue.
      entries.delete(key);
      entries.set(key, entry);
      first.resolve(true);
      serve();
      return;
    }
  }

  return {
    async acquire(key, weight) {
      const entry = entries.get(key) ?? { held: 0, waiting: [] };
      entries.set(key, entry);
      const isFree = entry.waiting.length === 0 && fits(entry.held, weight, keyMax);
      if (isFree && fits(total, weight, totalMax) && !isTotalAwaited()) {
        return hold(key, entry, weight);
      }
      if (entry.waiting.length >= waitersMax) return undefined;
      return new Promise((resolve) => {
        const timer = startDeadlineTimer(waitMaxMs, () => waiter.resolve(false));
        let isDecided = false;
        const waiter: Waiter = {
          weight,
          resolve(isHeld) {
            if (isDecided) return;
            isDecided = true;
            clearTimeout(timer);
            if (isHeld) return resolve(hold(key, entry, weight));
            entry.waiting.splice(entry.waiting.indexOf(waiter), 1);
            if (entry.held === 0 && entry.waiting.length === 0) entries.delete(key);
            resolve(undefined);
            // The next waiters may have smaller weights, which fit now.
            serve();
          },
        };
        entry.waiting.push(waiter);
      });
    },
  };
}
