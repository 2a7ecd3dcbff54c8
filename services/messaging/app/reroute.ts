/**
 * What waits at a connector that carries nothing, or at none because its routes were disabled, moves to
 * another of its frozen routes, as fast as that one's connector claims: the rest stays, and is sent from its
 * own place when its connector is back. Any number of replicas may do this at once; the second to come finds
 * nothing to change.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import { currentRoute, type Message, type PriorityClass } from "../domain/message.ts";
import { queueName, reroute, TEST_CONNECTOR } from "../domain/queue-transitions.ts";
import type { PendingIndex } from "./pending-index.ts";
import type { QueueStore } from "./ports.ts";
import { rotateAfter, roundRobin } from "./round-robin.ts";
import type { Changes } from "./update-messages.ts";

/** Moves what is stranded. */
export type Rerouter = {
  /** Moves a bounded number of messages; answers whether it is worth going on at once. */
  run(): Promise<boolean>;
};

/** Messages, and tenants, of a queue looked at in one run. */
const MESSAGES_MAX = 500;
const TENANTS_MAX = 32;
/** No more than this are let wait in the queue that takes over; the rest stays where it is. */
const ROOM_MAX = 2000;
/** After fewer than this the next run is worth waiting for. */
const WORTH_GOING_ON = MESSAGES_MAX / 2;
const PRIORITIES: readonly PriorityClass[] = ["single", "bulk"];

/** A message, whose it is, and the connector at which it could wait instead. */
type Candidate = { readonly id: string; readonly tenantId: string; readonly target: string };

/** Makes the diverter. */
export function createRerouter(options: {
  readonly queue: Pick<QueueStore, "waitingTenants" | "findWaiting" | "countIn">;
  readonly pending: Pick<PendingIndex, "connectors" | "mark" | "retain">;
  readonly changes: Changes;
  readonly availability: {
    readonly availabilityOf: AvailabilityOf;
    usableConnectors(): ReadonlySet<string>;
  };
  readonly clock: Clock;
}): Rerouter {
  const { queue, pending, changes, availability, clock } = options;
  const lastServed = new Map<string, string>();
  /** By queue and tenant: messages before this id have no other route, as far as the last look at them. */
  const passed = new Map<string, string>();
  let carriedAt: ReadonlySet<string> = new Set();
  let lastConnectorId: string | undefined;

  /** What of the next tenants' messages could move, tenants by turn, each one's oldest first. */
  async function look(connectorId: string, priority: PriorityClass): Promise<Candidate[]> {
    const name = queueName(connectorId, priority);
    const mark = pending.mark();
    const all = await queue.waitingTenants(connectorId, priority);
    pending.retain(connectorId, priority, all, mark);
    const some = rotateAfter(all, lastServed.get(name)).slice(0, TENANTS_MAX);
    // Unless one of them gets a place, the next look is at the others.
    lastServed.set(name, some.at(-1) ?? "");
    const limit = Math.ceil(MESSAGES_MAX / some.length);
    const nowMs = clock.now();
    const found = await Promise.all(
      some.map(async (tenantId) => {
        const place = `${name}|${tenantId}`;
        const fromId = passed.get(place) ?? "";
        const look = { tenantIds: [tenantId], fromId, nowMs, limit };
        const own = await queue.findWaiting(connectorId, priority, look);
        const candidates = own.flatMap(candidateOf);
        notePassed(place, own, candidates, limit);
        return candidates;
      }),
    );
    return roundRobin(found, MESSAGES_MAX).messages;
  }

  /** Only a full look without a candidate is passed over; at the end it begins at the start again. */
  function notePassed(
    place: string,
    own: readonly Message[],
    candidates: readonly Candidate[],
    limit: number,
  ): void {
    const last = own.at(-1);
    if (last === undefined || own.length < limit) passed.delete(place);
    else if (candidates.length === 0) passed.set(place, `${last.id}\0`);
  }

  function candidateOf(message: Message): Candidate[] {
    const target = currentRoute(reroute(message, availability.availabilityOf).message)?.connectorId;
    if (target === undefined || target === currentRoute(message)?.connectorId) return [];
    return [{ id: message.id, tenantId: message.tenantId, target }];
  }

  /** Connectors at which something waits that carry nothing, each first in its turn. */
  async function strandedAt(usable: ReadonlySet<string>): Promise<string[]> {
    const stranded = (await pending.connectors()).filter(
      (id) => id !== TEST_CONNECTOR && !usable.has(id),
    );
    const inTurn = rotateAfter(stranded, lastConnectorId);
    lastConnectorId = inTurn[0];
    return inTurn;
  }

  return {
    async run() {
      const usable = availability.usableConnectors();
      if (usable.size === 0) return false;
      // The very set as long as the table stands: with another one, other messages may go.
      if (usable !== carriedAt) passed.clear();
      carriedAt = usable;
      const stranded = await strandedAt(usable);
      let moved = 0;
      for (const priority of PRIORITIES) {
        const hasRoom = createRooms(queue, priority);
        for (const connectorId of stranded) {
          const ids: string[] = [];
          for (const { id, tenantId, target } of await look(connectorId, priority)) {
            if (!(await hasRoom(target))) continue;
            ids.push(id);
            lastServed.set(queueName(connectorId, priority), tenantId);
          }
          // Decided anew on what it is by then: it may have been claimed or cancelled meanwhile.
          await Promise.all(
            ids.map((id) =>
              changes.change(id, (message) => reroute(message, availability.availabilityOf)),
            ),
          );
          moved += ids.length;
        }
      }
      return moved >= WORTH_GOING_ON;
    },
  };
}

/** Takes a place in a connector's queue while there is one; each queue is counted once. */
function createRooms(
  queue: Pick<QueueStore, "countIn">,
  priority: PriorityClass,
): (connectorId: string) => Promise<boolean> {
  const rooms = new Map<string, number>();
  return async (connectorId) => {
    const left =
      rooms.get(connectorId) ?? ROOM_MAX - (await queue.countIn(connectorId, priority, ROOM_MAX));
    rooms.set(connectorId, Math.max(0, left - 1));
    return left > 0;
  };
}
