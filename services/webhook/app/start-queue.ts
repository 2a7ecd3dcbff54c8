/**
 * Attempts that have their slot wait here for their startSome to start. Some start at each startSome of the
 * event loop, the earliest due first. Starting a thousand at once, after an outage or a restart,
 * would make a thousand handshakes compete for the processor: all of them would be late, and those
 * that were due first as late as the last. While the loop has nothing else to do its turns take
 * microseconds, so that the queue holds up nobody.
 */

/**
 * How many start at one startSome of the event loop: so many that they share the query that reads their
 * endpoints, and the write of their results. With 4, a restarted process made half the attempts.
 */
const STARTS_PER_TURN = 64;

/** How many of those are of slow endpoints, while others wait. */
const SLOW_STARTS_PER_TURN = 32;

/** What waits to be started. */
export type StartQueueEntry = { readonly dueAtMs: number; readonly isSlow: boolean };

/** A queue of what waits. */
export type StartQueue<Item> = {
  add(item: Item): void;
  /** Gives back all that have not started, and forgets them. */
  clear(): Item[];
};

/**
 * Makes a queue. Slow endpoints get half of it at most: when many of them are let in at once, those
 * that answer do not wait behind them all.
 */
export function createStartQueue<Item extends StartQueueEntry>(
  start: (item: Item) => void,
): StartQueue<Item> {
  const prompt: Item[] = [];
  const slow: Item[] = [];
  let isScheduled = false;

  function startSome(): void {
    isScheduled = false;
    let slowStarts = 0;
    for (let starts = 0; starts < STARTS_PER_TURN; starts += 1) {
      const maySlow = slowStarts < SLOW_STARTS_PER_TURN || prompt.length === 0;
      const isSlowFirst = maySlow && dueFirst(slow) < dueFirst(prompt);
      const item = (isSlowFirst ? slow : prompt).shift();
      if (item === undefined) return;
      if (isSlowFirst) slowStarts += 1;
      start(item);
    }
    if (prompt.length + slow.length > 0) schedule();
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(startSome);
  }

  return {
    add(item) {
      insertByDue(item.isSlow ? slow : prompt, item);
      schedule();
    },
    clear: () => [...prompt.splice(0), ...slow.splice(0)],
  };
}

function dueFirst(queue: readonly StartQueueEntry[]): number {
  return queue[0]?.dueAtMs ?? Number.POSITIVE_INFINITY;
}

/** Behind all that are due no later. Most come in order, so the search begins at the end. */
function insertByDue<Item extends StartQueueEntry>(queue: Item[], item: Item): void {
  let at = queue.length;
  while (at > 0 && (queue[at - 1] as Item).dueAtMs > item.dueAtMs) at -= 1;
  queue.splice(at, 0, item);
}
