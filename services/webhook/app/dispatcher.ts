/**
 * The dispatcher gives slots to leased deliveries and fetches due ones from the database. It
 * holds no truth: whatever it forgets is due again when its lease ends.
 */
import { ulid } from "ulid";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { type Loop, startLoop } from "../../shared/flow/periodic.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import { SLOW_ANSWER_MS, type Slots, type SlotsInUse } from "../domain/concurrency-limits.ts";
import type { Claimed } from "../domain/delivery.ts";
import type { Attempted } from "./attempt.ts";
import { createLanes, type Lane, type LaneLimits } from "./endpoint-buffers.ts";
import type { ClaimRequest, DeliveryQueue } from "./ports.ts";
import { createStartLine, type StartQueueEntry } from "./start-queue.ts";

/** A running dispatcher. */
export type Dispatcher = {
  /** Promises a place in memory for a delivery about to be stored; false: let it wait at rest. */
  reserve(tenantId: string, endpointId: string): boolean;
  /** Tells whether the endpoint answers so quickly that it may be asked before anything is stored. */
  isQuick(endpointId: string): boolean;
  /** Gives a promised place back, whether or not its delivery comes. */
  unreserve(endpointId: string): void;
  /** Takes leased deliveries and starts those that get a slot. */
  enqueue(claimed: readonly Claimed[]): void;
  /** Looks for due deliveries soon instead of after the rest of the interval. */
  nudge(): void;
  /**
   * Settles when the first look for due deliveries is over, whatever it found. Events are taken
   * after it: retries that fell due while no process ran go before what piled up meanwhile.
   */
  readonly looked: Promise<void>;
  readonly figures: DispatcherFigures;
  /** Stops starting attempts, waits for those in the air, and gives back the rest. */
  close(): Promise<void>;
};

/** What the metrics show of a dispatcher. */
export type DispatcherFigures = {
  readonly waiting: number;
  readonly slots: SlotsInUse;
  /** How late the earliest due delivery is, in milliseconds, as of the last poll. */
  readonly oldestDueMs: number;
};

/** How a dispatcher is set up. */
export type DispatcherOptions = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly queue: Pick<DeliveryQueue, "findDueEndpoints" | "claim" | "release">;
  readonly slots: Slots;
  readonly laneLimits: LaneLimits;
  /** Makes one attempt; never rejects, and neither does the writing of its result. */
  readonly attempt: (claimed: Claimed) => Promise<Attempted>;
  /** True while the database is away: then nothing more is taken on. */
  readonly isStuck: () => boolean;
  readonly pollIntervalMs: number;
  readonly leaseMs: number;
};

/** A delivery that has its slot. */
type Slotted = StartQueueEntry & { readonly lane: Lane; readonly claimed: Claimed };

/** Deliveries leased by one poll. */
const CLAIM_MAX = 2000;

/**
 * Retries are leased this much before they are due, and start by a timer: a slow database, or one
 * that is asked five times a second, then delays none of them. What another lease still holds is not
 * taken ahead: its end is no due time. In milliseconds.
 */
const CLAIM_AHEAD_MS = 1000;

/** Lanes looked at when one slot is given back. */
const LANES_PER_RELEASE = 64;

/** Starts a dispatcher. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { clock, log, queue, slots } = options;
  const lanes = createLanes(options.laneLimits, slots);
  const line = createStartLine<Slotted>(start);
  /** Lanes whose next delivery found no slot, in the order in which they will be asked again. */
  const blocked = new Set<Lane>();
  const inTheAir = new Set<Promise<void>>();
  /** Leased deliveries that are not due yet, with their timers. */
  const ahead = new Map<Claimed, NodeJS.Timeout>();
  let turn = 0;
  let oldestDueMs = 0;
  let isClosing = false;

  function pump(lane: Lane): void {
    while (lane.queue.length > 0 && !isClosing) {
      if (letGoOfEnded(lane)) continue;
      if (!slots.take(lane.tenantId, lane.endpointId)) {
        blocked.delete(lane);
        blocked.add(lane);
        return;
      }
      const claimed = lane.queue.shift() as Claimed;
      lanes.count(-1);
      lane.active += 1;
      const isSlow = slots.isSlow(lane.endpointId);
      line.add({ lane, claimed, dueAtMs: claimed.dueAtMs, isSlow });
    }
    blocked.delete(lane);
  }

  /**
   * The first in the lane is due again in the database when its lease has ended while it waited, as
   * after the process stood still: it is claimed anew there, with everything else that is due. To ask
   * for each whether it is still ours would take a slot and two queries, one after the other.
   */
  function letGoOfEnded(lane: Lane): boolean {
    if ((lane.queue[0]?.leaseUntilMs ?? Number.POSITIVE_INFINITY) > clock.now()) return false;
    lane.queue.shift();
    lanes.count(-1);
    lane.hasBacklog = true;
    loop.nudge();
    return true;
  }

  function start({ lane, claimed }: Slotted): void {
    const work = run(lane, claimed).finally(() => inTheAir.delete(work));
    inTheAir.add(work);
  }

  async function run(lane: Lane, claimed: Claimed): Promise<void> {
    let isOverdue = false;
    const slowTimer = setTimeout(() => {
      isOverdue = true;
      slots.markSlow(lane.endpointId);
      pump(lane);
      // A slow one holds no place of those that nothing is known of, which others may wait for.
      pumpBlocked();
    }, SLOW_ANSWER_MS);
    const { answerMs, settled } = await options.attempt(claimed);
    clearTimeout(slowTimer);
    // A slot is a request in the air: the next one need not wait for this one's result to be written.
    slots.release(lane.tenantId, lane.endpointId, {
      durationMs: answerMs,
      wasOverdue: isOverdue,
      waiting: lane.queue.length,
    });
    lane.active -= 1;
    pump(lane);
    pumpBlocked();
    if (lane.hasBacklog && lane.queue.length < options.laneLimits.perLane / 2) loop.nudge();
    lanes.prune(lane);
    await settled;
  }

  function pumpBlocked(): void {
    let left = Math.min(blocked.size, LANES_PER_RELEASE);
    for (const lane of blocked) {
      if (left === 0) return;
      left -= 1;
      pump(lane);
    }
  }

  async function poll(): Promise<boolean> {
    if (isClosing || options.isStuck()) return false;
    const nowMs = clock.now();
    const byMs = nowMs + CLAIM_AHEAD_MS;
    const due = await queue.findDueEndpoints(byMs);
    oldestDueMs = due[0] === undefined ? 0 : Math.max(0, nowMs - due[0].firstDueAtMs);
    const dueIds = new Set(
      due.filter(({ firstDueAtMs }) => firstDueAtMs <= nowMs).map(({ endpointId }) => endpointId),
    );
    for (const lane of lanes.all()) {
      lane.hasBacklog = dueIds.has(lane.endpointId);
      lanes.prune(lane);
    }
    const requests = chooseRequests(due.map(({ endpointId }) => endpointId));
    if (requests.length === 0) return false;
    const lease = { id: ulid(), untilMs: clock.now() + options.leaseMs };
    const claimed = await queue.claim(requests, lease, nowMs, byMs);
    startWhenDue(claimed);
    return claimed.length > 0 && hasMore(requests, claimed);
  }

  /** What is not due yet holds its place in the lane until it is. */
  function startWhenDue(claimed: readonly Claimed[]): void {
    const nowMs = clock.now();
    enqueue(claimed.filter(({ dueAtMs }) => dueAtMs <= nowMs));
    for (const item of claimed) {
      if (item.dueAtMs <= nowMs) continue;
      const lane = lanes.get(item.tenantId, item.endpointId);
      lane.reserved += 1;
      lanes.count(1);
      const onDue = () => {
        ahead.delete(item);
        lane.reserved -= 1;
        lanes.count(-1);
        enqueue([item]);
      };
      // A timer may fire a fraction of a millisecond early; an attempt may not.
      ahead.set(item, setTimeout(onDue, item.dueAtMs - nowMs + 1));
    }
  }

  /** Shares one poll's claims: every due endpoint gets some, and the first place goes round. */
  function chooseRequests(endpointIds: readonly string[]): ClaimRequest[] {
    const requests: ClaimRequest[] = [];
    const share = Math.max(1, Math.floor(CLAIM_MAX / Math.max(1, endpointIds.length)));
    let left = CLAIM_MAX;
    turn += 1;
    for (let at = 0; at < endpointIds.length && left > 0; at += 1) {
      const endpointId = endpointIds[(at + turn) % endpointIds.length] as string;
      const lane = lanes.find(endpointId);
      const max = Math.min(left, share, lanes.room(lane?.tenantId ?? "", endpointId));
      if (max === 0) continue;
      requests.push({ endpointId, max });
      left -= max;
    }
    return requests;
  }

  function enqueue(claimed: readonly Claimed[]): void {
    const touched = new Set<Lane>();
    for (const item of claimed) {
      const lane = lanes.get(item.tenantId, item.endpointId);
      // After a restart: endpoints that hang need their slots now, not after hanging once more.
      slots.recall(item.endpointId, item.lastAnswerMs);
      lane.queue.push(item);
      touched.add(lane);
    }
    lanes.count(claimed.length);
    for (const lane of touched) {
      pump(lane);
      lanes.prune(lane);
    }
  }

  /**
   * What is new lines up behind a backlog. A quick endpoint's gets half of its lane at once: stored
   * and fetched again, it would cost so much more that under load the backlog would never end.
   */
  function roomWanted({ endpointId, hasBacklog }: Lane): number {
    if (!hasBacklog) return 1;
    return slots.isQuick(endpointId) ? options.laneLimits.perLane / 2 : Number.POSITIVE_INFINITY;
  }

  const { promise: looked, resolve: onLooked } = Promise.withResolvers<void>();
  const loop: Loop = startLoop({
    name: "webhook due deliveries",
    intervalMs: options.pollIntervalMs,
    log,
    work: () =>
      poll()
        .catch((error: unknown) => {
          // The interval is wait enough: what is due must go out as soon as the database is back.
          if (!isMongoOutage(error)) throw error;
          return false;
        })
        .finally(onLooked),
  });

  return {
    reserve(tenantId, endpointId) {
      if (isClosing || options.isStuck()) return false;
      const lane = lanes.get(tenantId, endpointId);
      if (lanes.room(tenantId, endpointId) < roomWanted(lane)) {
        lane.hasBacklog = true;
        return false;
      }
      lane.reserved += 1;
      return true;
    },
    isQuick: slots.isQuick,
    unreserve(endpointId) {
      const lane = lanes.find(endpointId);
      if (lane === undefined) return;
      lane.reserved -= 1;
      lanes.prune(lane);
    },
    enqueue,
    nudge: () => loop.nudge(),
    looked,
    get figures() {
      return { waiting: lanes.waiting, slots: slots.inUse, oldestDueMs };
    },
    async close() {
      isClosing = true;
      const slotted = line.clear().map(({ claimed }) => claimed);
      await loop.close();
      for (const timer of ahead.values()) clearTimeout(timer);
      await Promise.allSettled(inTheAir);
      const queued = [...lanes.all()].flatMap((lane) => lane.queue.splice(0));
      const left = [...queued, ...ahead.keys(), ...slotted];
      if (left.length > 0) await queue.release(left, clock.now());
    },
  };
}

/** Some endpoint gave as many as it was asked for: more may be waiting. */
function hasMore(requests: readonly ClaimRequest[], claimed: readonly Claimed[]): boolean {
  const counts = new Map<string, number>();
  for (const { endpointId } of claimed) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  return requests.some(({ endpointId, max }) => (counts.get(endpointId) ?? 0) >= max);
}
