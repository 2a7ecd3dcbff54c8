/**
 * Which tenants have something in each queue, and from which message on.
 *
 * MongoDB keeps the keys that left an index for minutes (its snapshot history): a look at a queue
 * from its start walks over everything that was claimed lately. So what comes in is learnt from who
 * puts it there, this process and, by their doorbells, the others; and each look at a tenant begins
 * where the one before found the first message waiting. A bell may be lost: every few seconds a look
 * at the whole index makes up for it.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Lane } from "../domain/message.ts";
import { queueName, waitingAt } from "../domain/queueing.ts";
import { createFactCache } from "./fact-cache.ts";
import type { QueueStore } from "./ports.ts";

/** Messages of one tenant that came into a queue. */
export type Arrival = {
  readonly lane: Lane;
  readonly tenantId: string;
  /** The first of them. */
  readonly messageId: string;
  /** When the last of them may be claimed. */
  readonly dueAtMs: number;
};

/** What this process knows of the waiting messages of each queue. */
export type WaitingTenants = {
  note(connectorId: string, arrival: Arrival): void;
  /** All tenants that may have messages waiting; asks the database when the answer is old. */
  list(connectorId: string, lane: Lane): Promise<readonly string[]>;
  /** Connectors at which anything waits. */
  connectors(): Promise<string[]>;
  /**
   * Begins a look at what tenants may have claimed at an instant: answers the id before which nothing of
   * them waits.
   */
  lookFrom(connectorId: string, lane: Lane, tenantIds: readonly string[], nowMs: number): string;
  /** Tells what the look found first of a tenant that may be claimed; undefined when nothing. */
  seen(connectorId: string, lane: Lane, tenantId: string, firstId: string | undefined): void;
};

/** How long something is overlooked whose bell was lost. */
const WHOLE_LOOK_MS = 5000;

/** What may be claimed only later than this is left to a look at the whole index. */
const LATER_MAX_MS = 600_000;

type Known = {
  /** Nothing waits before this one; empty when that is not known. */
  fromId: string;
  /** The first that came in since the look that is going on began. */
  arrivedId: string | undefined;
  /** The instant of that look. */
  lookedAtMs: number;
  /** Something may be claimed only then: no look at an instant before that moves `fromId`. */
  dueAtMs: number;
};

const NEVER = Number.NEGATIVE_INFINITY;

/** Makes the knowledge of waiting tenants. Looks at one queue must not overlap. */
export function createWaitingTenants(
  store: Pick<QueueStore, "queueNames" | "waitingTenants">,
  clock: Clock,
): WaitingTenants {
  const queues = new Map<string, { tenants: Map<string, Known>; readAtMs: number }>();
  /** Queues that hold anything: one question for all, because most connectors are idle. */
  const inUse = createFactCache<ReadonlySet<string>>({
    maxAgeMs: WHOLE_LOOK_MS,
    sizeMax: 1,
    clock,
    load: async () => new Set(await store.queueNames()),
  });

  function queue(connectorId: string, lane: Lane) {
    const name = queueName(connectorId, lane);
    let known = queues.get(name);
    if (known === undefined) {
      known = { tenants: new Map(), readAtMs: NEVER };
      queues.set(name, known);
    }
    return { name, known };
  }

  return {
    note(connectorId, { lane, tenantId, messageId, ...arrival }) {
      const dueAtMs = Math.min(arrival.dueAtMs, clock.now() + LATER_MAX_MS);
      const { tenants } = queue(connectorId, lane).known;
      const known = tenants.get(tenantId);
      if (known === undefined) {
        const arrived = { fromId: messageId, arrivedId: messageId };
        tenants.set(tenantId, { ...arrived, lookedAtMs: NEVER, dueAtMs });
        return;
      }
      known.fromId = lower(known.fromId, messageId);
      known.arrivedId = lower(known.arrivedId, messageId);
      known.dueAtMs = Math.max(known.dueAtMs, dueAtMs);
    },
    async list(connectorId, lane) {
      const { name, known } = queue(connectorId, lane);
      const ageMs = clock.now() - known.readAtMs;
      // A clock that was set back says nothing about an age.
      const isOld = ageMs < 0 || ageMs >= WHOLE_LOOK_MS;
      if (isOld && (await inUse.get("")).has(name)) {
        const atMs = clock.now();
        const tenantIds = await store.waitingTenants(connectorId, lane);
        known.readAtMs = atMs;
        for (const tenantId of tenantIds) {
          const tenant = known.tenants.get(tenantId);
          if (tenant !== undefined) tenant.fromId = "";
          else known.tenants.set(tenantId, unheardOf());
        }
      }
      return [...known.tenants.keys()];
    },
    async connectors() {
      const own = [...queues].filter(([, { tenants }]) => tenants.size > 0).map(([name]) => name);
      const names = new Set([...own, ...(await inUse.get(""))]);
      return [...new Set([...names].flatMap((name) => waitingAt(name) ?? []))];
    },
    lookFrom(connectorId, lane, tenantIds, nowMs) {
      const { tenants } = queue(connectorId, lane).known;
      let first: string | undefined;
      for (const tenantId of tenantIds) {
        const known = tenants.get(tenantId);
        if (known !== undefined) {
          known.arrivedId = undefined;
          known.lookedAtMs = nowMs;
        }
        first = lower(first, known?.fromId ?? "");
      }
      return first ?? "";
    },
    seen(connectorId, lane, tenantId, firstId) {
      const { tenants } = queue(connectorId, lane).known;
      const known = tenants.get(tenantId);
      if (known === undefined || known.lookedAtMs < known.dueAtMs) return;
      const { arrivedId } = known;
      const next = firstId === undefined ? arrivedId : lower(arrivedId, firstId);
      if (next === undefined) tenants.delete(tenantId);
      else known.fromId = next;
    },
  };
}

function unheardOf(): Known {
  return { fromId: "", arrivedId: undefined, lookedAtMs: NEVER, dueAtMs: NEVER };
}

/** The lower of two ids. */
export function lower(one: string | undefined, other: string): string {
  return one === undefined || other < one ? other : one;
}
