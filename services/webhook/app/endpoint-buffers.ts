/**
 * The lanes of a process: per endpoint, the leased deliveries that wait for a slot. Lanes are
 * short: what does not fit stays in the database, so a backlog costs no memory, and the
 * backlogs of some never take all the places of another.
 */

import type { Slots } from "../domain/concurrency-limits.ts";
import type { Claimed } from "../domain/delivery.ts";

/** One endpoint's lane. */
export type Lane = {
  readonly endpointId: string;
  readonly tenantId: string;
  queue: Claimed[];
  /** Places promised to deliveries that are being stored right now. */
  reserved: number;
  active: number;
  /** More is due in the database: new deliveries line up behind it. */
  hasBacklog: boolean;
};

/** The lanes of a process. */
export type Lanes = {
  get(tenantId: string, endpointId: string): Lane;
  find(endpointId: string): Lane | undefined;
  /** How many further deliveries the endpoint may have in memory. */
  room(tenantId: string, endpointId: string): number;
  /** Forgets a lane that holds nothing. */
  prune(lane: Lane): void;
  all(): IterableIterator<Lane>;
  /** Deliveries waiting in memory. */
  readonly waiting: number;
  count(by: number): void;
};

/** Bounds of the lanes. `total` may be exceeded by as much again, a few places for each lane. */
export type LaneLimits = { readonly perLane: number; readonly total: number };

/** What a lane may hold although others have taken all there is. */
const LEAST = 16;

/** Makes the lanes. */
export function createLanes(limits: LaneLimits, slots: Slots): Lanes {
  const lanes = new Map<string, Lane>();
  let waiting = 0;

  function shareOf(held: number): number {
    const left = limits.total - waiting + held;
    return Math.max(left, Math.min(LEAST, limits.total + left));
  }

  return {
    get(tenantId, endpointId) {
      let lane = lanes.get(endpointId);
      if (lane === undefined) {
        lane = { endpointId, tenantId, queue: [], reserved: 0, active: 0, hasBacklog: false };
        lanes.set(endpointId, lane);
      }
      return lane;
    },
    find: (endpointId) => lanes.get(endpointId),
    room(tenantId, endpointId) {
      const lane = lanes.get(endpointId);
      const held = lane === undefined ? 0 : lane.queue.length + lane.reserved;
      // A slow endpoint would hold its places for long: it gets what can start right now.
      const cap = slots.isSlow(endpointId)
        ? slots.free(tenantId, endpointId)
        : Math.min(limits.perLane, shareOf(held));
      return Math.max(0, cap - held);
    },
    prune(lane) {
      const isEmpty = lane.queue.length === 0 && lane.reserved === 0 && lane.active === 0;
      if (isEmpty && !lane.hasBacklog) lanes.delete(lane.endpointId);
    },
    all: () => lanes.values(),
    get waiting() {
      return waiting;
    },
    count(by) {
      waiting += by;
    },
  };
}
