/**
 * The dispatcher gives limiter to leased deliveries and fetches due ones from the database. It
 * holds no truth: whatever it forgets is due again when its lease ends.
 */
import { ulid } from "ulid";
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { type Loop, startLoop } from "../../shared/flow/periodic.ts";
import {
  type ConcurrencyLimiter,
  type PermitsInUse,
  SLOW_RESPONSE_MS,
} from "../domain/concurrency-limits.ts";
import type { Claimed } from "../domain/delivery.ts";
import type { Attempted } from "./attempt.ts";
import {
  type BufferLimits,
  createEndpointBuffers,
  type EndpointBuffer,
} from "./endpoint-buffers.ts";
import type { ClaimRequest, DeliveryQueue } from "./ports.ts";
import { createStartQueue, type StartQueueEntry } from "./start-queue.ts";

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
  readonly firstPollDone: Promise<void>;
  readonly figures: DispatcherFigures;
  /** DisabledEndpoints starting attempts, waits for those in the air, and gives back the rest. */
  close(): Promise<void>;
};

/** What the metrics show of a dispatcher. */
export type DispatcherFigures = {
  readonly waiting: number;
  readonly permits: PermitsInUse;
  /** How late the earliest due delivery is, in milliseconds, as of the last poll. */
  readonly oldestDueMs: number;
};

/** How a dispatcher is set up. */
export type DispatcherOptions = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly queue: Pick<DeliveryQueue, "findDueEndpoints" | "claim" | "release">;
  readonly limiter: ConcurrencyLimiter;
  readonly bufferLimits: BufferLimits;
  /** Makes one attempt; never rejects, and neither does the writing of its result. */
  readonly attempt: (claimed: Claimed) => Promise<Attempted>;
  /** True while the database is away: then nothing more is taken on. */
  readonly isBlocked: () => boolean;
  readonly pollIntervalMs: number;
  readonly leaseMs: number;
};

/** A delivery that has its slot. */
type Permitted = StartQueueEntry & { readonly buffer: EndpointBuffer; readonly claimed: Claimed };

/** Deliveries leased by one poll. */
const CLAIM_MAX = 2000;

/**
 * Retries are leased this much before they are due, and start by a timer: a slow database, or one
 * that is asked five times a second, then delays none of them. What another lease still holds is not
 * taken claimedAhead: its end is no due time. In milliseconds.
 */
const CLAIM_AHEAD_MS = 1000;

/** EndpointBuffers firstPollDone at when one slot is given back. */
const BUFFERS_PER_RELEASE = 64;

/** Starts a dispatcher. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { clock, log, queue, limiter } = options;
  const buffers = createEndpointBuffers(options.bufferLimits, limiter);
  const startQueue = createStartQueue<Permitted>(start);
  /** EndpointBuffers whose next delivery found no slot, in the order in which they will be asked again. */
  const waitingForPermit = new Set<EndpointBuffer>();
  const running = new Set<Promise<void>>();
  /** Leased deliveries that are not due yet, with their timers. */
  const claimedAhead = new Map<Claimed, NodeJS.Timeout>();
  let round = 0;
  let oldestDueMs = 0;
  let isClosing = false;

  function startPermitted(buffer: EndpointBuffer): void {
    while (buffer.queue.length > 0 && !isClosing) {
      if (dropExpiredLease(buffer)) continue;
      if (!limiter.acquire(buffer.tenantId, buffer.endpointId)) {
        waitingForPermit.delete(buffer);
        waitingForPermit.add(buffer);
        return;
      }
      const claimed = buffer.queue.shift() as Claimed;
      buffers.count(-1);
      buffer.active += 1;
      const isSlow = limiter.isSlow(buffer.endpointId);
      startQueue.add({ buffer, claimed, dueAtMs: claimed.dueAtMs, isSlow });
    }
    waitingForPermit.delete(buffer);
  }

  /**
   * The first in the buffer is due again in the database when its lease has ended while it waited, as
   * after the process stood still: it is claimed anew there, with everything else that is due. To ask
   * for each whether it is still ours would take a slot and two queries, one after the other.
   */
  function dropExpiredLease(buffer: EndpointBuffer): boolean {
    if ((buffer.queue[0]?.leaseUntilMs ?? Number.POSITIVE_INFINITY) > clock.now()) return false;
    buffer.queue.shift();
    buffers.count(-1);
    buffer.hasBacklog = true;
    loop.nudge();
    return true;
  }

  function start({ buffer, claimed }: Permitted): void {
    const work = run(buffer, claimed).finally(() => running.delete(work));
    running.add(work);
  }

  async function run(buffer: EndpointBuffer, claimed: Claimed): Promise<void> {
    let isOverdue = false;
    const slowTimer = setTimeout(() => {
      isOverdue = true;
      limiter.markSlow(buffer.endpointId);
      startPermitted(buffer);
      // A slow one holds no place of those that nothing is known of, which others may wait for.
      startWaiting();
    }, SLOW_RESPONSE_MS);
    const { responseMs, written } = await options.attempt(claimed);
    clearTimeout(slowTimer);
    // A slot is a request in the air: the next one need not wait for this one's result to be written.
    limiter.release(buffer.tenantId, buffer.endpointId, {
      durationMs: responseMs,
      wasOverdue: isOverdue,
      waiting: buffer.queue.length,
    });
    buffer.active -= 1;
    startPermitted(buffer);
    startWaiting();
    if (buffer.hasBacklog && buffer.queue.length < options.bufferLimits.perEndpoint / 2)
      loop.nudge();
    buffers.prune(buffer);
    await written;
  }

  function startWaiting(): void {
    let left = Math.min(waitingForPermit.size, BUFFERS_PER_RELEASE);
    for (const buffer of waitingForPermit) {
      if (left === 0) return;
      left -= 1;
      startPermitted(buffer);
    }
  }

  async function poll(): Promise<boolean> {
    if (isClosing || options.isBlocked()) return false;
    const nowMs = clock.now();
    const byMs = nowMs + CLAIM_AHEAD_MS;
    const due = await queue.findDueEndpoints(byMs);
    oldestDueMs = due[0] === undefined ? 0 : Math.max(0, nowMs - due[0].firstDueAtMs);
    const dueIds = new Set(
      due.filter(({ firstDueAtMs }) => firstDueAtMs <= nowMs).map(({ endpointId }) => endpointId),
    );
    for (const buffer of buffers.all()) {
      buffer.hasBacklog = dueIds.has(buffer.endpointId);
      buffers.prune(buffer);
    }
    const requests = chooseRequests(due.map(({ endpointId }) => endpointId));
    if (requests.length === 0) return false;
    const lease = { id: ulid(), untilMs: clock.now() + options.leaseMs };
    const claimed = await queue.claim(requests, lease, nowMs, byMs);
    startWhenDue(claimed);
    return claimed.length > 0 && hasMore(requests, claimed);
  }

  /** What is not due yet holds its place in the buffer until it is. */
  function startWhenDue(claimed: readonly Claimed[]): void {
    const nowMs = clock.now();
    enqueue(claimed.filter(({ dueAtMs }) => dueAtMs <= nowMs));
    for (const item of claimed) {
      if (item.dueAtMs <= nowMs) continue;
      const buffer = buffers.get(item.tenantId, item.endpointId);
      buffer.reserved += 1;
      buffers.count(1);
      const onDue = () => {
        claimedAhead.delete(item);
        buffer.reserved -= 1;
        buffers.count(-1);
        enqueue([item]);
      };
      // A timer may fire a fraction of a millisecond early; an attempt may not.
      claimedAhead.set(item, setTimeout(onDue, item.dueAtMs - nowMs + 1));
    }
  }

  /** Shares one poll's claims: every due endpoint gets some, and the first place goes round. */
  function chooseRequests(endpointIds: readonly string[]): ClaimRequest[] {
    const requests: ClaimRequest[] = [];
    const share = Math.max(1, Math.floor(CLAIM_MAX / Math.max(1, endpointIds.length)));
    let left = CLAIM_MAX;
    round += 1;
    for (let at = 0; at < endpointIds.length && left > 0; at += 1) {
      const endpointId = endpointIds[(at + round) % endpointIds.length] as string;
      const buffer = buffers.find(endpointId);
      const max = Math.min(left, share, buffers.room(buffer?.tenantId ?? "", endpointId));
      if (max === 0) continue;
      requests.push({ endpointId, max });
      left -= max;
    }
    return requests;
  }

  function enqueue(claimed: readonly Claimed[]): void {
    const touched = new Set<EndpointBuffer>();
    for (const item of claimed) {
      const buffer = buffers.get(item.tenantId, item.endpointId);
      // After a restart: endpoints that hang need their limiter now, not after hanging once more.
      limiter.seedLatency(item.endpointId, item.lastAnswerMs);
      buffer.queue.push(item);
      touched.add(buffer);
    }
    buffers.count(claimed.length);
    for (const buffer of touched) {
      startPermitted(buffer);
      buffers.prune(buffer);
    }
  }

  /**
   * What is new lines up behind a backlog. A quick endpoint's gets half of its buffer at once: stored
   * and fetched again, it would cost so much more that under load the backlog would never end.
   */
  function roomWanted({ endpointId, hasBacklog }: EndpointBuffer): number {
    if (!hasBacklog) return 1;
    return limiter.isQuick(endpointId)
      ? options.bufferLimits.perEndpoint / 2
      : Number.POSITIVE_INFINITY;
  }

  const { promise: firstPollDone, resolve: onFirstPollDone } = Promise.withResolvers<void>();
  const loop: Loop = startLoop({
    name: "webhook due deliveries",
    intervalMs: options.pollIntervalMs,
    log,
    work: () =>
      poll()
        .catch((error: unknown) => {
          // The interval is wait enough: what is due must go out as soon as the database is back.
          if (!isUnavailable(error)) throw error;
          return false;
        })
        .finally(onFirstPollDone),
  });

  return {
    reserve(tenantId, endpointId) {
      if (isClosing || options.isBlocked()) return false;
      const buffer = buffers.get(tenantId, endpointId);
      if (buffers.room(tenantId, endpointId) < roomWanted(buffer)) {
        buffer.hasBacklog = true;
        return false;
      }
      buffer.reserved += 1;
      return true;
    },
    isQuick: limiter.isQuick,
    unreserve(endpointId) {
      const buffer = buffers.find(endpointId);
      if (buffer === undefined) return;
      buffer.reserved -= 1;
      buffers.prune(buffer);
    },
    enqueue,
    nudge: () => loop.nudge(),
    firstPollDone,
    get figures() {
      return { waiting: buffers.waiting, permits: limiter.inUse, oldestDueMs };
    },
    async close() {
      isClosing = true;
      const slotted = startQueue.clear().map(({ claimed }) => claimed);
      await loop.close();
      for (const timer of claimedAhead.values()) clearTimeout(timer);
      await Promise.allSettled(running);
      const queued = [...buffers.all()].flatMap((buffer) => buffer.queue.splice(0));
      const left = [...queued, ...claimedAhead.keys(), ...slotted];
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
