/** Round robin over tenants, for claims and for rerouting. */

/** Sorts the names and starts after the one that was served last. */
export function rotateAfter(names: readonly string[], last: string | undefined): string[] {
  const sorted = [...names].sort();
  const at = last === undefined ? 0 : sorted.findIndex((name) => name > last);
  return at <= 0 ? sorted : [...sorted.slice(at), ...sorted.slice(0, at)];
}

/** Takes one message of each queue in turn, up to `max`; `last` is the position of the queue served last. */
export function roundRobin<T>(
  queues: readonly (readonly T[])[],
  max: number,
): { messages: T[]; last: number | undefined } {
  const messages: T[] = [];
  let last: number | undefined;
  for (let round = 0; messages.length < max; round += 1) {
    const before = messages.length;
    for (let at = 0; at < queues.length && messages.length < max; at += 1) {
      const message = queues[at]?.[round];
      if (message === undefined) continue;
      messages.push(message);
      last = at;
    }
    if (messages.length === before) break;
  }
  return { messages, last };
}
