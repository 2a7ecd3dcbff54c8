/**
 * The dispatcher gives permits to leased deliveries and claims due ones from the database. It is
 * not the source of truth: a delivery that it loses is due again when its lease ends.
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
  /**
   * Reserves a place in memory for a delivery that will be stored; false leaves it in the database.
   */
  reserve(tenantId: string, endpointId: string): boolean;
  /** Whether the endpoint is fast enough for an attempt before its delivery is stored. */
  isQuick(endpointId: string): boolean;
  /** Returns a reserved place, whether or not its delivery was stored. */
  unreserve(endpointId: string): void;
  /** Takes leased deliveries and starts those that get a permit. */
  enqueue(claimed: readonly Claimed[]): void;
  /** Polls soon instead of after the rest of the interval. */
  nudge(): void;
  /**
   * Resolves when the first poll is over, even if it failed. The consumer starts after it, so
   * retries that became due while no process ran go before new events.
   */
  readonly firstPollDone: Promise<void>;
  readonly figures: DispatcherFigures;
  /** Starts no more attempts, waits for running ones, and releases the other leases. */
  close(): Promise<void>;
};

/** Figures for the metrics. */
export type DispatcherFigures = {
  readonly waiting: number;
  readonly permits: PermitsInUse;
  /** How late the earliest due delivery was at the last poll, in milliseconds. */
  readonly oldestDueMs: number;
};

export type DispatcherOptions = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly queue: Pick<DeliveryQueue, "findDueEndpoints" | "claim" | "release">;
  readonly limiter: ConcurrencyLimiter;
  readonly bufferLimits: BufferLimits;
  /** Makes one attempt. Neither it nor the write of its result ever rejects. */
  readonly attempt: (claimed: Claimed) => Promise<Attempted>;
  /** True while the database is away: the dispatcher then takes no new work. */
  readonly isBlocked: () => boolean;
  readonly pollIntervalMs: number;
  readonly leaseMs: number;
};

/** A delivery that has its permit. */
type Permitted = StartQueueEntry & { readonly buffer: EndpointBuffer; readonly claimed: Claimed };

/** Deliveries claimed by one poll. */
const CLAIM_MAX = 2000;

/**
 * Retries are claimed this long before they are due, and a timer starts them. So neither a slow
 * database nor the poll interval delays them. A delivery that another process leases is not claimed
 * ahead: the end of a lease is not a due time. In milliseconds.
 */
const CLAIM_AHEAD_MS = 1000;

/** Buffers that are tried when one permit is released. */
const BUFFERS_PER_RELEASE = 64;

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { clock, log, queue, limiter } = options;
  const buffers = createEndpointBuffers(options.bufferLimits, limiter);
  const startQueue = createStartQueue<Permitted>(start);
  /** Buffers whose next delivery found no permit, in the order of the next tries. */
  const waitingForPermit = new Set<EndpointBuffer>();
  const running = new Set<Promise<void>>();
  /** Leased deliveries that are not due yet, with their timers. */
  const claimedAhead = new Map<Claimed, NodeJS.Timeout>();
  let round = 0;
  let oldestDueMs = 0;
  let isClosing = false;

  /** Starts deliveries of a buffer while the endpoint gets permits. */
  function drain(buffer: EndpointBuffer): void {
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
   * Drops the first delivery of a buffer when its lease has ended, for example after the process
   * was paused. It is due again in the database and is claimed there (ADR 79). Checking each lease
   * would take a permit and two queries per delivery.
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
      drain(buffer);
      // The slow endpoint no longer counts as fresh, so other fresh endpoints may get a permit.
      drainWaiting();
    }, SLOW_RESPONSE_MS);
    const { responseMs, written } = await options.attempt(claimed);
    clearTimeout(slowTimer);
    // A permit covers a request, not the write of its result.
    limiter.release(buffer.tenantId, buffer.endpointId, {
      durationMs: responseMs,
      wasOverdue: isOverdue,
      waiting: buffer.queue.length,
    });
    buffer.active -= 1;
    drain(buffer);
    drainWaiting();
    if (buffer.hasBacklog && buffer.queue.length < options.bufferLimits.perEndpoint / 2)
      loop.nudge();
    buffers.prune(buffer);
    await written;
  }

  function drainWaiting(): void {
    let left = Math.min(waitingForPermit.size, BUFFERS_PER_RELEASE);
    for (const buffer of waitingForPermit) {
      if (left === 0) return;
      left -= 1;
      drain(buffer);
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

  /** Holds a place in the buffer for each delivery until it is due. */
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
      // A timer may fire a fraction of a millisecond early; an attempt must not.
      claimedAhead.set(item, setTimeout(onDue, item.dueAtMs - nowMs + 1));
    }
  }

  /** Divides one poll's claims: every due endpoint gets a share, in round robin. */
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
      // After a restart an endpoint that hangs needs its permits now, not after another timeout.
      limiter.seedLatency(item.endpointId, item.lastAnswerMs);
      buffer.queue.push(item);
      touched.add(buffer);
    }
    buffers.count(claimed.length);
    for (const buffer of touched) {
      drain(buffer);
      buffers.prune(buffer);
    }
  }

  /**
   * The free places that a new delivery needs. New deliveries wait behind a backlog in the
   * database. A fast endpoint gets half of its buffer for them: storing and claiming each delivery
   * would cost so much that under load the backlog would never end.
   */
  function placesNeeded({ endpointId, hasBacklog }: EndpointBuffer): number {
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
          // Poll again after the interval: deliveries must leave as soon as the database is back.
          if (!isUnavailable(error)) throw error;
          return false;
        })
        .finally(onFirstPollDone),
  });

  return {
    reserve(tenantId, endpointId) {
      if (isClosing || options.isBlocked()) return false;
      const buffer = buffers.get(tenantId, endpointId);
      if (buffers.room(tenantId, endpointId) < placesNeeded(buffer)) {
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
      const permitted = startQueue.clear().map(({ claimed }) => claimed);
      await loop.close();
      for (const timer of claimedAhead.values()) clearTimeout(timer);
      await Promise.allSettled(running);
      const queued = [...buffers.all()].flatMap((buffer) => buffer.queue.splice(0));
      const left = [...queued, ...claimedAhead.keys(), ...permitted];
      if (left.length > 0) await queue.release(left, clock.now());
    },
  };
}

/** Whether some endpoint filled its share: more may be due. */
function hasMore(requests: readonly ClaimRequest[], claimed: readonly Claimed[]): boolean {
  const counts = new Map<string, number>();
  for (const { endpointId } of claimed) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  return requests.some(({ endpointId, max }) => (counts.get(endpointId) ?? 0) >= max);
}
