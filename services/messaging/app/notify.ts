/** Who is told of what comes into the queues: this process's claimer, its limits, and all the others. */
import { UNROUTED } from "../domain/choose-route.ts";
import { currentRoute, type Message } from "../domain/message.ts";
import { type Arrival, lower, type PendingIndex, type PendingMessage } from "./pending-index.ts";
import type { QueueLimits } from "./queue-limits.ts";

/** Tells carriers and this process's own claimer that messages wait. */
export type QueueNotifications = {
  /** Rings for each waiting message's connector, once per connector and turn of the event loop. */
  ring(messages: readonly Message[]): void;
};

/** Makes the bells; `ring` tells the others, and may be lost without harm. */
export function createQueueNotifications(options: {
  readonly ring: (connectorId: string, arrivals: readonly Arrival[]) => void;
  readonly pending: PendingIndex;
  readonly limits: QueueLimits;
}): QueueNotifications {
  const { pending, limits } = options;
  let rung = new Map<string, Map<string, Arrivals>>();

  function flush(): void {
    const all = rung;
    rung = new Map();
    for (const [connectorId, arrivals] of all) options.ring(connectorId, [...arrivals.values()]);
  }

  function tell(connectorId: string, arrival: Arrival): void {
    if (rung.size === 0) setImmediate(flush);
    const arrivals = rung.get(connectorId) ?? new Map<string, Arrivals>();
    rung.set(connectorId, arrivals);
    const key = `${arrival.priority}|${arrival.tenantId}`;
    const known = arrivals.get(key);
    if (known === undefined) arrivals.set(key, begun(arrival));
    else join(known, arrival);
  }

  return {
    ring(messages) {
      for (const message of messages) {
        const route = currentRoute(message);
        if (message.phase !== "waiting" || route === undefined) continue;
        if (route.connectorId === UNROUTED) continue;
        const { priority, tenantId, id: messageId, notBeforeMs: dueAtMs } = message;
        const named = [{ messageId, dueAtMs }];
        const arrival = { priority, tenantId, messageId, dueAtMs, named };
        pending.note(route.connectorId, arrival);
        limits.note(route.connectorId, priority);
        tell(route.connectorId, arrival);
      }
    },
  };
}

/** Messages of one tenant and queue that one bell names at most. */
const NAMED_MAX = 256;

/** Arrivals of one tenant in one queue as one, which grows; `named` is undefined once they are too many to name. */
type Arrivals = {
  -readonly [K in Exclude<keyof Arrival, "named">]: Arrival[K];
} & { named: PendingMessage[] | undefined };

function begun(arrival: Arrival): Arrivals {
  return { ...arrival, named: arrival.named === undefined ? undefined : [...arrival.named] };
}

function join(all: Arrivals, { messageId, dueAtMs, named }: Arrival): void {
  all.messageId = lower(all.messageId, messageId);
  all.dueAtMs = Math.max(all.dueAtMs, dueAtMs);
  if (all.named === undefined || named === undefined) all.named = undefined;
  else if (all.named.length + named.length > NAMED_MAX) all.named = undefined;
  else all.named.push(...named);
}
