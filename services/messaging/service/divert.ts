/**
 * What waits at a connector that carries nothing moves to another of its frozen routes, as fast as that
 * one's connector claims: the rest stays, and is sent from its own place when its connector is back.
 * Any number of replicas may do this at once; the second to come finds nothing to change.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { StandingOf } from "../domain/choose-route.ts";
import { currentRoute, type Lane, type Message } from "../domain/message.ts";
import { divert, queueName, TEST_CONNECTOR } from "../domain/queueing.ts";
import type { Changes } from "./changes.ts";
import type { QueueStore } from "./ports.ts";
import type { WaitingTenants } from "./waiting-tenants.ts";

/** Moves what is stranded. */
export type Diverter = {
  /** Moves a bounded number of messages; answers whether more may be moved at once. */
  run(): Promise<boolean>;
};

/** Messages, and tenants, of a queue looked at in one run. */
const MESSAGES_MAX = 500;
const TENANTS_MAX = 32;
/** No more than this are let wait at the connector that takes over. */
const ROOM_MAX = 2000;
const LANES: readonly Lane[] = ["single", "bulk"];

/** Where to go on in the queues of the tenants that are not walked to their end; empty: the start. */
type Walk = Map<string, string>;

/** Makes the diverter. A queue is walked a piece a run, again and again, so all of it is looked at. */
export function createDiverter(options: {
  readonly queue: Pick<QueueStore, "waitingTenants" | "findWaiting" | "countWaiting">;
  readonly tenants: Pick<WaitingTenants, "connectors">;
  readonly changes: Changes;
  readonly standings: { readonly routeOf: StandingOf; carrying(): ReadonlySet<string> };
  readonly clock: Clock;
}): Diverter {
  const { queue, tenants, changes, standings, clock } = options;
  let walks = new Map<string, Walk>();

  async function walkOf(connectorId: string, lane: Lane): Promise<Walk> {
    const known = walks.get(queueName(connectorId, lane));
    if (known !== undefined && known.size > 0) return known;
    const tenantIds = await queue.waitingTenants(connectorId, lane);
    return new Map(tenantIds.map((tenantId) => [tenantId, ""]));
  }

  /** The ids of the next stranded messages of a queue for which there is room elsewhere. */
  async function look(
    connectorId: string,
    lane: Lane,
    walk: Walk,
    takeRoom: (connectorId: string) => Promise<boolean>,
  ): Promise<string[]> {
    const nowMs = clock.now();
    const some = [...walk].slice(0, TENANTS_MAX);
    const limit = Math.ceil(MESSAGES_MAX / some.length);
    const found = await Promise.all(
      some.map(([tenantId, fromId]) =>
        queue.findWaiting(connectorId, lane, { tenantIds: [tenantId], fromId, nowMs, limit }),
      ),
    );
    const picked: string[] = [];
    for (const [at, [tenantId]] of some.entries()) {
      const own = found[at] ?? [];
      const met = await pick(own, picked, takeRoom);
      const last = own.at(-1)?.id;
      // Behind the others, so that all have their turn.
      walk.delete(tenantId);
      if (met !== undefined) walk.set(tenantId, met);
      else if (last !== undefined && own.length === limit) walk.set(tenantId, `${last}\0`);
    }
    return picked;
  }

  /** Picks what can be moved; answers the id of the first for which there is no room. */
  async function pick(
    messages: readonly Message[],
    picked: string[],
    takeRoom: (connectorId: string) => Promise<boolean>,
  ): Promise<string | undefined> {
    for (const message of messages) {
      const target = currentRoute(divert(message, standings.routeOf).message)?.connectorId;
      if (target === undefined || target === currentRoute(message)?.connectorId) continue;
      if (!(await takeRoom(target))) return message.id;
      picked.push(message.id);
    }
    return undefined;
  }

  return {
    async run() {
      const carrying = standings.carrying();
      if (carrying.size === 0) return false;
      const stranded = (await tenants.connectors()).filter(
        (id) => id !== TEST_CONNECTOR && !carrying.has(id),
      );
      const rooms = new Map<string, number>();
      const takeRoom = async (connectorId: string): Promise<boolean> => {
        const left =
          rooms.get(connectorId) ?? ROOM_MAX - (await queue.countWaiting(connectorId, ROOM_MAX));
        rooms.set(connectorId, Math.max(0, left - 1));
        return left > 0;
      };
      const walked = new Map<string, Walk>();
      let hasMoved = false;
      for (const connectorId of stranded) {
        for (const lane of LANES) {
          const walk = await walkOf(connectorId, lane);
          if (walk.size === 0) continue;
          walked.set(queueName(connectorId, lane), walk);
          const ids = await look(connectorId, lane, walk, takeRoom);
          await Promise.all(
            // Decided anew on what it is by then: it may be claimed or cancelled meanwhile.
            ids.map((id) => changes.change(id, (message) => divert(message, standings.routeOf))),
          );
          hasMoved ||= ids.length > 0;
        }
      }
      walks = walked;
      return hasMoved;
    },
  };
}
