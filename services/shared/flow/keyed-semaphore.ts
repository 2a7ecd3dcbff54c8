/** Lets so many of each key in at once. */
export type KeyedSemaphore = {
  /** Runs `work` when fewer than that are inside; what is one too many waits behind its own kind. */
  pass<T>(key: string, work: () => Promise<T>): Promise<T>;
};

type Line = { inside: number; readonly waiting: (() => void)[] };

/**
 * Makes one. A key with much to do fills its own places and then its own line; what the places lead to is
 * never full of one key. Those that wait have no bound here: their callers count them.
 */
export function createTurnstile(places: number): KeyedSemaphore {
  const lines = new Map<string, Line>();
  return {
    async pass(key, work) {
      const line = lines.get(key) ?? { inside: 0, waiting: [] };
      lines.set(key, line);
      if (line.inside < places) line.inside += 1;
      else await new Promise<void>((resolve) => line.waiting.push(resolve));
      try {
        return await work();
      } finally {
        // A place goes from hand to hand: nobody who comes meanwhile takes it from who waits.
        const next = line.waiting.shift();
        if (next !== undefined) next();
        else line.inside -= 1;
        if (line.inside === 0) lines.delete(key);
      }
    },
  };
}
