/** Who is told of what comes into the queues: this process's claimer, its limits, and all the others. */
import { NO_CONNECTOR } from "../domain/choose-route.ts";
import { currentRoute, type Message } from "../domain/message.ts";
import type { QueueLimits } from "./queue-limits.ts";
import { type Arrival, lower, type WaitingTenants } from "./waiting-tenants.ts";

/** Tells carriers and this process's own claimer that messages wait. */
export type Doorbells = {
  /** Rings for each waiting message's connector, once per connector and turn of the event loop. */
  ring(messages: readonly Message[]): void;
};

/** Makes the bells; `ring` tells the others, and may be lost without harm. */
export function createDoorbells(options: {
  readonly ring: (connectorId: string, arrivals: readonly Arrival[]) => void;
  readonly tenants: WaitingTenants;
  readonly limits: QueueLimits;
}): Doorbells {
  const { tenants, limits } = options;
  let rung = new Map<string, Map<string, Arrival>>();

  function flush(): void {
    const all = rung;
    rung = new Map();
    for (const [connectorId, arrivals] of all) options.ring(connectorId, [...arrivals.values()]);
  }

  function tell(connectorId: string, arrival: Arrival): void {
    if (rung.size === 0) setImmediate(flush);
    const arrivals = rung.get(connectorId) ?? new Map<string, Arrival>();
    rung.set(connectorId, arrivals);
    const key = `${arrival.lane}|${arrival.tenantId}`;
    arrivals.set(key, joined(arrivals.get(key), arrival));
  }

  return {
    ring(messages) {
      for (const message of messages) {
        const route = currentRoute(message);
        if (message.phase !== "waiting" || route === undefined) continue;
        if (route.connectorId === NO_CONNECTOR) continue;
        const { lane, tenantId, id: messageId, notBeforeMs: dueAtMs } = message;
        const named = [{ messageId, dueAtMs }];
        const arrival = { lane, tenantId, messageId, dueAtMs, named };
        tenants.note(route.connectorId, arrival);
        limits.note(route.connectorId, lane);
        tell(route.connectorId, arrival);
      }
    },
  };
}

/** Messages of one tenant and queue that one bell names at most. */
const NAMED_MAX = 256;

/** Arrivals of one tenant in one queue as one. */
function joined(one: Arrival | undefined, other: Arrival): Arrival {
  if (one === undefined) return other;
  const messageId = lower(one.messageId, other.messageId);
  const dueAtMs = Math.max(one.dueAtMs, other.dueAtMs);
  return { ...other, messageId, dueAtMs, named: joinedNames(one.named, other.named) };
}

function joinedNames(one: Arrival["named"], other: Arrival["named"]): Arrival["named"] {
  if (one === undefined || other === undefined) return undefined;
  return one.length + other.length > NAMED_MAX ? undefined : [...one, ...other];
}
