import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { PriorityClass } from "../domain/message.ts";
import { queueName } from "../domain/queue-transitions.ts";
import type { QueueStore } from "./ports.ts";

/**
 * Refuses work for queues that are full, early instead of queueing without bound. Each lane of a connector
 * is a queue of its own: a bulk that fills one leaves single sends their room.
 */
export type QueueLimits = {
  /** Throws `service_unavailable` when the lane of the connector is full. */
  checkRoom(connectorId: string, priority: PriorityClass): void;
  /** Notes one more message in a queue. */
  note(connectorId: string, priority: PriorityClass): void;
  /** Counts the queues again; run by a loop. */
  recount(): Promise<void>;
};

/** Below this share of the bound a queue is not counted again: counting costs a walk of its keys. */
const RECOUNT_SHARE = 1 / 8;

/** A queue that looks full is counted again at most this often, and for a tenth of the time at most. */
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
 * Makes the limits. Between counts the length is what was counted plus what this process has put
 * in since, which is never too low for its own share; claims show at the next count. So a queue
 * may look full that has been drained meanwhile: refusing asks for a new count.
 */
export function createQueueLimits(store: QueueStore, waitingMax: number, log: Logger): QueueLimits {
  const queues = new Map<string, KnownQueue>();

  async function count(queue: KnownQueue): Promise<void> {
    queue.countAgainAtMs = Number.POSITIVE_INFINITY;
    const beganMs = performance.now();
    const before = queue.waiting;
    try {
      const counted = await store.countIn(queue.connectorId, queue.priority, waitingMax);
      // What came in meanwhile may have been counted or not; too high is the safe side.
      queue.waiting += counted - before;
      queue.isCounted = true;
    } finally {
      const endMs = performance.now();
      const restMs = Math.max(FULL_RECOUNT_MS, (endMs - beganMs) / FULL_RECOUNT_SHARE);
      queue.countAgainAtMs = endMs + restMs;
    }
  }

  return {
    checkRoom(connectorId, priority) {
      const queue = queues.get(queueName(connectorId, priority));
      if (queue === undefined || queue.waiting < waitingMax) return;
      if (performance.now() >= queue.countAgainAtMs) {
        // A count that fails is made again by the loop.
        count(queue).catch(() => undefined);
      }
      throw new AppError("service_unavailable", "The queue is full; try again shortly.", {
        cause: `the ${priority} priority of ${connectorId}`,
        retryAfterMs: 5000,
      });
    },
    note(connectorId, priority) {
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
        // Two counts at once would both set right what one of them has.
        if (queue.countAgainAtMs === Number.POSITIVE_INFINITY) continue;
        await count(queue);
        const { connectorId, priority } = queue;
        if (queue.waiting >= waitingMax) log.warn({ connectorId, priority }, "a queue is full");
      }
    },
  };
}
