/**
 * Attempts with a permit start from this queue: some per event-loop turn, the earliest due first.
 * After an outage or restart, a thousand handshakes at once would compete for the CPU and delay
 * even the earliest. An idle event loop turns within microseconds, so the queue adds no delay.
 */

/**
 * Attempts started per event-loop turn. They share the query for their endpoints and the write of
 * their results. With 4, a restarted process made half as many attempts.
 */
const STARTS_PER_TURN = 64;

/** Attempts to slow endpoints per event-loop turn while attempts to others wait. */
const SLOW_STARTS_PER_TURN = 32;

/** An attempt that waits to start. */
export type StartQueueEntry = { readonly dueAtMs: number; readonly isSlow: boolean };

export type StartQueue<Item> = {
  add(item: Item): void;
  /** Removes and returns the attempts that have not started. */
  clear(): Item[];
};

/**
 * Slow endpoints get at most half of each turn, so attempts to fast endpoints do not wait behind
 * them.
 */
export function createStartQueue<Item extends StartQueueEntry>(
  start: (item: Item) => void,
): StartQueue<Item> {
  const prompt: Item[] = [];
  const slow: Item[] = [];
  let isScheduled = false;

  function startPortion(): void {
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
    setImmediate(startPortion);
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

/** Inserts in due order. Most attempts arrive in order, so the search starts at the end. */
function insertByDue<Item extends StartQueueEntry>(queue: Item[], item: Item): void {
  let at = queue.length;
  while (at > 0 && (queue[at - 1] as Item).dueAtMs > item.dueAtMs) at -= 1;
  queue.splice(at, 0, item);
}
