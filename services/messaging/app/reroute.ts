/**
 * Moves messages that wait at an unusable connector, or at none because their routes were disabled, to another of
 * their frozen routes, as fast as its connector claims. The rest keeps its place until the connector is back. Any
 * number of replicas may do this at once; the second one finds nothing to change (ADR 87).
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import { currentRoute, type Message, type PriorityClass } from "../domain/message.ts";
import { queueName, reroute, TEST_CONNECTOR } from "../domain/queue-transitions.ts";
import type { PendingIndex } from "./pending-index.ts";
import type { QueueStore } from "./ports.ts";
import { rotateAfter, roundRobin } from "./round-robin.ts";
import type { Changes } from "./update-messages.ts";

export type Rerouter = {
  /** Moves a limited number of messages; returns whether to run again at once. */
  run(): Promise<boolean>;
};

/** The most messages and tenants of a queue in one run. */
const MESSAGES_MAX = 500;
const TENANTS_MAX = 32;
/** A target queue grows to at most this many messages; further messages stay where they are. */
const ROOM_MAX = 2000;
/** A run that moves fewer messages is followed by a pause. */
const BUSY_RUN_MIN = MESSAGES_MAX / 2;
const PRIORITIES: readonly PriorityClass[] = ["single", "bulk"];

/** A message that could wait at another connector. */
type Candidate = { readonly id: string; readonly tenantId: string; readonly target: string };

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
  /** By queue and tenant: messages before this id had no other route when last read. */
  const skippedTo = new Map<string, string>();
  let carriedAt: ReadonlySet<string> = new Set();
  let lastConnectorId: string | undefined;

  /** Messages of the next tenants that could move: round robin over tenants, each one's oldest first. */
  async function findCandidates(
    connectorId: string,
    priority: PriorityClass,
  ): Promise<Candidate[]> {
    const name = queueName(connectorId, priority);
    const mark = pending.mark();
    const all = await queue.waitingTenants(connectorId, priority);
    pending.retain(connectorId, priority, all, mark);
    const some = rotateAfter(all, lastServed.get(name)).slice(0, TENANTS_MAX);
    // Advance the round robin past these tenants; a message that moves sets it back to its own tenant.
    lastServed.set(name, some.at(-1) ?? "");
    const limit = Math.ceil(MESSAGES_MAX / some.length);
    const nowMs = clock.now();
    const found = await Promise.all(
      some.map(async (tenantId) => {
        const place = `${name}|${tenantId}`;
        const fromId = skippedTo.get(place) ?? "";
        const scan = { tenantIds: [tenantId], fromId, nowMs, limit };
        const own = await queue.findWaiting(connectorId, priority, scan);
        const candidates = own.flatMap(candidateOf);
        noteSkipped(place, own, candidates, limit);
        return candidates;
      }),
    );
    return roundRobin(found, MESSAGES_MAX).messages;
  }

  /** Skips a full page without candidates; starts again after the last page. */
  function noteSkipped(
    place: string,
    own: readonly Message[],
    candidates: readonly Candidate[],
    limit: number,
  ): void {
    const last = own.at(-1);
    if (last === undefined || own.length < limit) skippedTo.delete(place);
    else if (candidates.length === 0) skippedTo.set(place, `${last.id}\0`);
  }

  function candidateOf(message: Message): Candidate[] {
    const target = currentRoute(reroute(message, availability.availabilityOf).message)?.connectorId;
    if (target === undefined || target === currentRoute(message)?.connectorId) return [];
    return [{ id: message.id, tenantId: message.tenantId, target }];
  }

  /** Unusable connectors with waiting messages, in round-robin order. */
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
      // The set is the same object while the route table is; with another table, other messages can move.
      if (usable !== carriedAt) skippedTo.clear();
      carriedAt = usable;
      const stranded = await strandedAt(usable);
      let moved = 0;
      for (const priority of PRIORITIES) {
        const hasRoom = createRooms(queue, priority);
        for (const connectorId of stranded) {
          const ids: string[] = [];
          for (const { id, tenantId, target } of await findCandidates(connectorId, priority)) {
            if (!(await hasRoom(target))) continue;
            ids.push(id);
            lastServed.set(queueName(connectorId, priority), tenantId);
          }
          // Decide on the current message: it may have been claimed or cancelled meanwhile.
          await Promise.all(
            ids.map((id) =>
              changes.change(id, (message) => reroute(message, availability.availabilityOf)),
            ),
          );
          moved += ids.length;
        }
      }
      return moved >= BUSY_RUN_MIN;
    },
  };
}

/** Reserves a place in a connector's queue while there is room; counts each queue once. */
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
