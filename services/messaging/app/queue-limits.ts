import { type Clock, steadyClock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { PriorityClass } from "../domain/message.ts";
import { queueName } from "../domain/queue-transitions.ts";
import type { QueueStore } from "./ports.ts";

/**
 * Refuses sends for full queues, instead of queueing without limit. Each priority class of a connector has its own
 * queue: a bulk send that fills one leaves room for single sends.
 */
export type QueueLimits = {
  /** Throws `service_unavailable` if the queue is full. */
  checkRoom(connectorId: string, priority: PriorityClass): void;
  /** Counts one more message in a queue. */
  add(connectorId: string, priority: PriorityClass): void;
  /** Counts the queues again; run by a loop. */
  recount(): Promise<void>;
};

/** A queue below this share of the limit is not counted again: a count scans its index keys. */
const RECOUNT_SHARE = 1 / 8;

/** A full queue is counted again at most this often, and counts take at most a tenth of the time. */
const FULL_RECOUNT_MS = 250;
const FULL_RECOUNT_SHARE = 1 / 10;

type KnownQueue = {
  readonly connectorId: string;
  readonly priority: PriorityClass;
  waiting: number;
  isCounted: boolean;
  countAgainAtMs: number;
};

/**
 * Between counts a queue's known length is its last count plus the messages that this process added; claims lower it at
 * the next count. It never misses messages of this process. It may be too high after the queue was drained, so a
 * refusal starts a new count. The time between counts is measured by the monotonic clock.
 */
export function createQueueLimits(
  store: Pick<QueueStore, "countIn">,
  waitingMax: number,
  log: Logger,
  clock: Clock = steadyClock,
): QueueLimits {
  const queues = new Map<string, KnownQueue>();

  async function count(queue: KnownQueue): Promise<void> {
    queue.countAgainAtMs = Number.POSITIVE_INFINITY;
    const beganMs = clock.now();
    const before = queue.waiting;
    try {
      const counted = await store.countIn(queue.connectorId, queue.priority, waitingMax);
      // The count may or may not include messages added meanwhile; too high is the safe side.
      queue.waiting += counted - before;
      queue.isCounted = true;
    } finally {
      const endMs = clock.now();
      const restMs = Math.max(FULL_RECOUNT_MS, (endMs - beganMs) / FULL_RECOUNT_SHARE);
      queue.countAgainAtMs = endMs + restMs;
    }
  }

  return {
    checkRoom(connectorId, priority) {
      const queue = queues.get(queueName(connectorId, priority));
      if (queue === undefined || queue.waiting < waitingMax) return;
      if (clock.now() >= queue.countAgainAtMs) {
        // The loop repeats a failed count.
        count(queue).catch(() => undefined);
      }
      throw new AppError("service_unavailable", "The queue is full; try again shortly.", {
        cause: `the ${priority} priority of ${connectorId}`,
        retryAfterMs: 5000,
      });
    },
    add(connectorId, priority) {
      const name = queueName(connectorId, priority);
      const queue = queues.get(name);
      if (queue !== undefined) queue.waiting += 1;
      else
        queues.set(name, {
          connectorId,
          priority,
          waiting: 1,
          isCounted: false,
          countAgainAtMs: 0,
        });
    },
    async recount() {
      for (const queue of queues.values()) {
        if (queue.isCounted && queue.waiting < waitingMax * RECOUNT_SHARE) continue;
        // Two concurrent counts would both apply the same correction.
        if (queue.countAgainAtMs === Number.POSITIVE_INFINITY) continue;
        await count(queue);
        const { connectorId, priority } = queue;
        if (queue.waiting >= waitingMax) log.warn({ connectorId, priority }, "a queue is full");
      }
    },
  };
}
