/** Announces messages that enter a queue: to this process's pending index and limits, and to other processes. */
import { UNROUTED } from "../domain/choose-route.ts";
import { currentRoute, type Message } from "../domain/message.ts";
import { type Arrival, lower, type PendingIndex, type PendingMessage } from "./pending-index.ts";
import type { QueueLimits } from "./queue-limits.ts";

export type QueueNotifications = {
  /** Notifies of waiting messages, once per connector and iteration of the event loop. */
  notify(messages: readonly Message[]): void;
};

/** `publish` notifies other processes; a lost notification costs only time. */
export function createQueueNotifications(options: {
  readonly publish: (connectorId: string, arrivals: readonly Arrival[]) => void;
  readonly pending: PendingIndex;
  readonly limits: QueueLimits;
}): QueueNotifications {
  const { pending, limits } = options;
  let unpublished = new Map<string, Map<string, Arrivals>>();

  function flush(): void {
    const all = unpublished;
    unpublished = new Map();
    for (const [connectorId, arrivals] of all) options.publish(connectorId, [...arrivals.values()]);
  }

  function publishLater(connectorId: string, arrival: Arrival): void {
    if (unpublished.size === 0) setImmediate(flush);
    const arrivals = unpublished.get(connectorId) ?? new Map<string, Arrivals>();
    unpublished.set(connectorId, arrivals);
    const key = `${arrival.priority}|${arrival.tenantId}`;
    const known = arrivals.get(key);
    if (known === undefined) arrivals.set(key, copyOf(arrival));
    else merge(known, arrival);
  }

  return {
    notify(messages) {
      for (const message of messages) {
        const route = currentRoute(message);
        if (message.phase !== "waiting" || route === undefined) continue;
        if (route.connectorId === UNROUTED) continue;
        const { priority, tenantId, id: messageId, notBeforeMs: dueAtMs } = message;
        const messages = [{ messageId, dueAtMs }];
        const arrival = { priority, tenantId, messageId, dueAtMs, messages };
        pending.add(route.connectorId, arrival);
        limits.add(route.connectorId, priority);
        publishLater(route.connectorId, arrival);
      }
    },
  };
}

/** Message ids of one tenant and queue in one notification. */
const MESSAGES_MAX = 256;

/** The merged arrivals of one tenant in one queue; `messages` is undefined once there are too many. */
type Arrivals = {
  -readonly [K in Exclude<keyof Arrival, "messages">]: Arrival[K];
} & { messages: PendingMessage[] | undefined };

function copyOf(arrival: Arrival): Arrivals {
  const { messages } = arrival;
  return { ...arrival, messages: messages === undefined ? undefined : [...messages] };
}

function merge(all: Arrivals, { messageId, dueAtMs, messages }: Arrival): void {
  all.messageId = lower(all.messageId, messageId);
  all.dueAtMs = Math.max(all.dueAtMs, dueAtMs);
  if (all.messages === undefined || messages === undefined) all.messages = undefined;
  else if (all.messages.length + messages.length > MESSAGES_MAX) all.messages = undefined;
  else all.messages.push(...messages);
}
