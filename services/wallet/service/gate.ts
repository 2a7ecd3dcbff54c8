/** Lets a bounded number of pieces of work run at once; the rest wait in order of arrival. */
export type Gate = { run<T>(work: () => Promise<T>): Promise<T> };

/** Makes a gate of that width. */
export function createGate(width: number): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(work) {
      if (running >= width) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await work();
      } finally {
        // A place is handed on, not freed, so that newcomers cannot pass those who wait.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
