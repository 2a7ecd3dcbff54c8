/**
 * What this process knows of the queues without asking: which tenants have just put something
 * in, and roughly how long each queue is. Other replicas' work is learnt from MongoDB.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/io/log.ts";
import { currentRoute, type Lane, type Message } from "../domain/message.ts";
import { queueName, waitingAt } from "../domain/queueing.ts";
import { createFactCache } from "./fact-cache.ts";
import type { QueueStore } from "./ports.ts";

/** Tells carriers and this process's own claimer that messages wait. */
export type Doorbells = {
  /** Rings for each waiting message's connector, once per connector and turn of the event loop. */
  ring(messages: readonly Message[]): void;
};

/** Makes the bells; `publish` sends `doorbell.<connector>`, which may be lost without harm. */
export function createDoorbells(options: {
  readonly publish: (connectorId: string) => void;
  readonly tenants: WaitingTenants;
  readonly limits: QueueLimits;
}): Doorbells {
  const { publish, tenants, limits } = options;
  let rung = new Set<string>();

  function flush(): void {
    const connectorIds = rung;
    rung = new Set();
    for (const connectorId of connectorIds) publish(connectorId);
  }

  return {
    ring(messages) {
      for (const message of messages) {
        const route = currentRoute(message);
        if (message.phase !== "waiting" || route === undefined) continue;
        tenants.add(route.connectorId, message.lane, message.tenantId);
        limits.note(route.connectorId);
        if (rung.size === 0) setImmediate(flush);
        rung.add(route.connectorId);
      }
    },
  };
}

/** Which tenants have something in each queue, as far as known. */
export type WaitingTenants = {
  add(connectorId: string, lane: Lane, tenantId: string): void;
  /** All tenants that may have messages waiting; asks the database when the answer is old. */
  list(connectorId: string, lane: Lane): Promise<readonly string[]>;
  /** Connectors at which anything waits; what came in of late may be missing, but a bell rang for it. */
  connectors(): Promise<string[]>;
  /** Notes that a tenant's queue was found empty by a look begun at `lookedAt`. */
  remove(connectorId: string, lane: Lane, tenantId: string, lookedAt: number): void;
  /** A mark of the present moment, for `remove`. */
  mark(): number;
};

/** How old the database's answer may be: what other replicas accept waits no longer than both. */
const TENANTS_AGE_MAX_MS = 200;
const NAMES_AGE_MAX_MS = 100;

/** Makes the knowledge of waiting tenants. */
export function createWaitingTenants(store: QueueStore, clock: Clock): WaitingTenants {
  const queues = new Map<string, { tenants: Map<string, number>; readAtMs: number }>();
  let marks = 0;
  /** Queues that hold anything: one question for all, because most connectors are idle. */
  const inUse = createFactCache<ReadonlySet<string>>({
    maxAgeMs: NAMES_AGE_MAX_MS,
    sizeMax: 1,
    clock,
    load: async () => new Set(await store.queueNames()),
  });

  function queue(name: string) {
    let known = queues.get(name);
    if (known === undefined) {
      known = { tenants: new Map(), readAtMs: 0 };
      queues.set(name, known);
    }
    return known;
  }

  return {
    add(connectorId, lane, tenantId) {
      marks += 1;
      queue(queueName(connectorId, lane)).tenants.set(tenantId, marks);
    },
    async list(connectorId, lane) {
      const name = queueName(connectorId, lane);
      const known = queue(name);
      const nowMs = clock.now();
      if (nowMs - known.readAtMs >= TENANTS_AGE_MAX_MS && (await inUse.get("")).has(name)) {
        known.readAtMs = nowMs;
        for (const tenantId of await store.waitingTenants(connectorId, lane)) {
          if (!known.tenants.has(tenantId)) known.tenants.set(tenantId, 0);
        }
      }
      return [...known.tenants.keys()];
    },
    async connectors() {
      const ids = [...(await inUse.get(""))].flatMap((name) => waitingAt(name) ?? []);
      return [...new Set(ids)];
    },
    remove(connectorId, lane, tenantId, lookedAt) {
      const { tenants } = queue(queueName(connectorId, lane));
      // Rung since the look began: something may have come in behind its back.
      if ((tenants.get(tenantId) ?? 0) <= lookedAt) tenants.delete(tenantId);
    },
    mark: () => marks,
  };
}

/** Refuses work for queues that are full, early instead of queueing without bound. */
export type QueueLimits = {
  /** Throws `service_unavailable` when the connector's queue is full. */
  checkRoom(connectorId: string): void;
  /** Notes one more message in a queue. */
  note(connectorId: string): void;
  /** Counts the queues again; run by a loop. */
  recount(): Promise<void>;
};

/** Below this share of the bound a queue is not counted again: counting costs a walk of its keys. */
const RECOUNT_SHARE = 1 / 8;

/** A queue that looks full is counted again at most this often, and for a tenth of the time at most. */
const FULL_RECOUNT_MS = 250;
const FULL_RECOUNT_SHARE = 1 / 10;

type KnownQueue = { waiting: number; isCounted: boolean; countAgainAtMs: number };

/**
 * Makes the limits. Between counts the length is what was counted plus what this process has put
 * in since, which is never too low for its own share; claims show at the next count. So a queue
 * may look full that has been drained meanwhile: refusing asks for a new count.
 */
export function createQueueLimits(store: QueueStore, waitingMax: number, log: Logger): QueueLimits {
  const queues = new Map<string, KnownQueue>();

  async function count(connectorId: string, queue: KnownQueue): Promise<void> {
    queue.countAgainAtMs = Number.POSITIVE_INFINITY;
    const beganMs = performance.now();
    const before = queue.waiting;
    try {
      const counted = await store.countWaiting(connectorId, waitingMax);
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
    checkRoom(connectorId) {
      const queue = queues.get(connectorId);
      if (queue === undefined || queue.waiting < waitingMax) return;
      if (performance.now() >= queue.countAgainAtMs) {
        // A count that fails is made again by the loop.
        count(connectorId, queue).catch(() => undefined);
      }
      throw new AppError("service_unavailable", "The queue is full; try again shortly.", {
        cause: `queue of ${connectorId}`,
        retryAfterMs: 5000,
      });
    },
    note(connectorId) {
      const queue = queues.get(connectorId);
      if (queue === undefined) {
        queues.set(connectorId, { waiting: 1, isCounted: false, countAgainAtMs: 0 });
      } else queue.waiting += 1;
    },
    async recount() {
      for (const [connectorId, queue] of queues) {
        if (queue.isCounted && queue.waiting < waitingMax * RECOUNT_SHARE) continue;
        await count(connectorId, queue);
        if (queue.waiting >= waitingMax) log.warn({ connectorId }, "a queue is full");
      }
    },
  };
}
