/**
 * What waits in each queue: the tenants that have something there, and their messages by name.
 *
 * MongoDB keeps the keys that left an index for minutes (its snapshot history), and a scan walks over
 * all of them: those before the first message that waits, and those behind the last one, up to the
 * next key that still stands. So what comes in is learnt by name from who puts it there, this process
 * and, by their doorbells, the others; and it is read by name. A scan looks only for what has no name
 * here: more than can be told, and every few seconds everything, because a bell may be lost.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { createRefreshAheadCache } from "../../shared/flow/refresh-ahead-cache.ts";
import type { PriorityClass } from "../domain/message.ts";
import { queueName, waitingAt } from "../domain/queue-transitions.ts";
import type { QueueStore } from "./ports.ts";

/** A message that came into a queue. */
export type PendingMessage = {
  readonly messageId: string;
  /** When it may be claimed. */
  readonly dueAtMs: number;
};

/** Messages of one tenant that came into a queue. */
export type Arrival = {
  readonly priority: PriorityClass;
  readonly tenantId: string;
  /** The first of them. */
  readonly messageId: string;
  /** When the last of them may be claimed. */
  readonly dueAtMs: number;
  /** Each of them; undefined when they are too many to name. */
  readonly named: readonly PendingMessage[] | undefined;
};

/** What this process knows of the waiting messages of each queue. */
export type PendingIndex = {
  note(connectorId: string, arrival: Arrival): void;
  /** All tenants that may have messages waiting; asks the database when the answer is old. */
  list(connectorId: string, priority: PriorityClass): Promise<readonly string[]>;
  /** Connectors at which anything waits. */
  connectors(): Promise<string[]>;
  /** A tenant's messages that may be claimed at an instant, as far as they have names; oldest first. */
  named(place: Place, nowMs: number, max: number): readonly PendingMessage[];
  /** Forgets names: claimed, or not found any more. One that came in again meanwhile stays. */
  forget(place: Place, gone: readonly PendingMessage[]): void;
  /** How much has come in so far, for `retain`. */
  mark(): number;
  /**
   * Forgets a queue's tenants that are not among these, which were read after a mark, and for whom nothing has come in
   * since: at a connector where nobody claims nothing else would.
   */
  retain(
    connectorId: string,
    priority: PriorityClass,
    tenantIds: readonly string[],
    mark: number,
  ): void;
  /**
   * Whether to look for what has no name: there may be such, and fewer than `wanted` that may be claimed
   * have one, or the tenant was not looked at since the last look at everything. So nothing starves
   * behind what is named.
   */
  needsScan(place: Place, nowMs: number, wanted: number): boolean;
  /** Whether there may be what has no name. */
  hasUnknown(place: Place): boolean;
  /**
   * Begins a look for what has no name and may be claimed at an instant: answers the id before which
   * there is none of these tenants.
   */
  startScan(places: readonly Place[], nowMs: number): string;
  /** Names what a look found of a tenant; `isAll` unless it ended before the last one. */
  endScan(place: Place, messageIds: readonly string[], isAll: boolean): void;
};

/** One tenant's part of one queue. */
export type Place = {
  readonly connectorId: string;
  readonly priority: PriorityClass;
  readonly tenantId: string;
};

/** How long something is overlooked whose bell was lost. */
const WHOLE_LOOK_MS = 5000;

/** What may be claimed only later than this is left to a look at the whole index. */
const LATER_MAX_MS = 600_000;

/** Names kept of one tenant in one queue, and in all; what comes beyond is looked for. */
const NAMES_MAX = 1000;
const NAMES_TOTAL_MAX = 200_000;

type Known = {
  names: Map<string, PendingMessage>;
  /** The names are in order of id. */
  isSorted: boolean;
  lastId: string;
  hasUnknown: boolean;
  /** Not looked at since the last look at the whole index. */
  isOverdue: boolean;
  /** Nothing without a name waits before this one; empty when that is not known. */
  fromId: string;
  /** The first without a name that came in since the look that is going on began. */
  arrivedId: string | undefined;
  /** How much had come in, here and elsewhere, with its latest. */
  arrival: number;
  /** The instant of that look. */
  lookedAtMs: number;
  /** Something without a name may be claimed only then. */
  dueAtMs: number;
};

const NEVER = Number.NEGATIVE_INFINITY;

/** Makes the knowledge of what waits. Looks at one queue must not overlap. */
export function createPendingIndex(
  store: Pick<QueueStore, "queueNames" | "waitingTenants">,
  clock: Clock,
): PendingIndex {
  const queues = new Map<string, { tenants: Map<string, Known>; readAtMs: number }>();
  let namesTotal = 0;
  let arrivals = 0;
  /** Queues that hold anything: one question for all, because most connectors are idle. */
  const inUse = createRefreshAheadCache<ReadonlySet<string>>({
    maxAgeMs: WHOLE_LOOK_MS,
    sizeMax: 1,
    clock,
    load: async () => new Set(await store.queueNames()),
  });

  function queue(connectorId: string, priority: PriorityClass) {
    const name = queueName(connectorId, priority);
    let known = queues.get(name);
    if (known === undefined) {
      known = { tenants: new Map(), readAtMs: NEVER };
      queues.set(name, known);
    }
    return { name, known };
  }

  function find({ connectorId, priority, tenantId }: Place): Known | undefined {
    return queue(connectorId, priority).known.tenants.get(tenantId);
  }

  function open({ connectorId, priority, tenantId }: Place): Known {
    const { tenants } = queue(connectorId, priority).known;
    let known = tenants.get(tenantId);
    if (known === undefined) {
      known = unheardOf();
      tenants.set(tenantId, known);
    }
    return known;
  }

  function dropIfEmpty({ connectorId, priority, tenantId }: Place, known: Known): void {
    if (known.names.size > 0 || known.hasUnknown) return;
    queue(connectorId, priority).known.tenants.delete(tenantId);
  }

  /** Names may be of messages that other replicas have claimed: what still waits is named again. */
  function beginAnew(known: Known, nowMs: number): void {
    for (const [messageId, { dueAtMs }] of known.names) {
      if (dueAtMs > nowMs) continue;
      known.names.delete(messageId);
      namesTotal -= 1;
    }
    known.hasUnknown = true;
    known.isOverdue = true;
    known.fromId = "";
  }

  /** Whether there was room for the name. */
  function addName(known: Known, arrival: PendingMessage): boolean {
    const { names } = known;
    if (!names.has(arrival.messageId)) {
      if (names.size >= NAMES_MAX || namesTotal >= NAMES_TOTAL_MAX) return false;
      namesTotal += 1;
      if (arrival.messageId < known.lastId) known.isSorted = false;
      else known.lastId = arrival.messageId;
    }
    names.set(arrival.messageId, arrival);
    return true;
  }

  function noteUnnamed(known: Known, messageId: string, dueAtMs: number): void {
    known.fromId = known.hasUnknown ? lower(known.fromId, messageId) : messageId;
    known.dueAtMs = known.hasUnknown ? Math.max(known.dueAtMs, dueAtMs) : dueAtMs;
    known.arrivedId = lower(known.arrivedId, messageId);
    known.hasUnknown = true;
  }

  return {
    note(connectorId, { priority, tenantId, messageId, dueAtMs, named }) {
      const latestMs = clock.now() + LATER_MAX_MS;
      const place = { connectorId, priority, tenantId };
      const known = open(place);
      arrivals += 1;
      known.arrival = arrivals;
      if (named === undefined) {
        noteUnnamed(known, messageId, Math.min(dueAtMs, latestMs));
        return;
      }
      for (const one of named) {
        if (one.dueAtMs > latestMs || addName(known, one)) continue;
        noteUnnamed(known, one.messageId, one.dueAtMs);
      }
      dropIfEmpty(place, known);
    },
    async list(connectorId, priority) {
      const { name, known } = queue(connectorId, priority);
      const ageMs = clock.now() - known.readAtMs;
      // A clock that was set back says nothing about an age.
      const isOld = ageMs < 0 || ageMs >= WHOLE_LOOK_MS;
      if (isOld && (await inUse.get("")).has(name)) {
        const atMs = clock.now();
        const tenantIds = await store.waitingTenants(connectorId, priority);
        known.readAtMs = atMs;
        for (const tenantId of new Set([...known.tenants.keys(), ...tenantIds])) {
          beginAnew(open({ connectorId, priority, tenantId }), atMs);
        }
      }
      return [...known.tenants.keys()];
    },
    async connectors() {
      const own = [...queues].filter(([, { tenants }]) => tenants.size > 0).map(([name]) => name);
      const names = new Set([...own, ...(await inUse.get(""))]);
      return [...new Set([...names].flatMap((name) => waitingAt(name) ?? []))];
    },
    named(place, nowMs, max) {
      const known = find(place);
      return known === undefined ? [] : dueNames(known, nowMs, max);
    },
    forget(place, gone) {
      const known = find(place);
      if (known === undefined) return;
      for (const one of gone) {
        if (known.names.get(one.messageId) !== one) continue;
        known.names.delete(one.messageId);
        namesTotal -= 1;
      }
      dropIfEmpty(place, known);
    },
    mark: () => arrivals,
    retain(connectorId, priority, tenantIds, mark) {
      const { tenants } = queue(connectorId, priority).known;
      const kept = new Set(tenantIds);
      for (const [tenantId, { names, arrival }] of tenants) {
        if (kept.has(tenantId) || arrival > mark) continue;
        namesTotal -= names.size;
        tenants.delete(tenantId);
      }
    },
    needsScan(place, nowMs, wanted) {
      const known = find(place);
      if (known?.hasUnknown !== true) return false;
      return known.isOverdue || dueNames(known, nowMs, wanted).length < wanted;
    },
    hasUnknown: (place) => find(place)?.hasUnknown === true,
    startScan(places, nowMs) {
      let first: string | undefined;
      for (const place of places) {
        const known = find(place);
        if (known === undefined) continue;
        known.arrivedId = undefined;
        known.lookedAtMs = nowMs;
        first = lower(first, known.fromId);
      }
      return first ?? "";
    },
    endScan(place, messageIds, isAll) {
      const known = find(place);
      if (known === undefined) return;
      const { arrivedId, lookedAtMs } = known;
      known.isOverdue = false;
      const nameless = messageIds.find((messageId) => {
        const before = known.names.get(messageId);
        if (before !== undefined && before.dueAtMs <= lookedAtMs) return false;
        return !addName(known, { messageId, dueAtMs: lookedAtMs });
      });
      if (lookedAtMs >= known.dueAtMs) {
        const next = nameless ?? (isAll ? undefined : messageIds.at(-1));
        known.hasUnknown = next !== undefined || arrivedId !== undefined;
        known.fromId = next === undefined ? (arrivedId ?? "") : lower(arrivedId, next);
      }
      dropIfEmpty(place, known);
    },
  };
}

/** The names of what may be claimed at an instant, oldest first, so many at most. */
function dueNames(known: Known, nowMs: number, max: number): PendingMessage[] {
  if (!known.isSorted) {
    known.names = new Map([...known.names].sort(([one], [other]) => (one < other ? -1 : 1)));
    known.isSorted = true;
  }
  const due: PendingMessage[] = [];
  for (const one of known.names.values()) {
    if (due.length === max) break;
    if (one.dueAtMs <= nowMs) due.push(one);
  }
  return due;
}

function unheardOf(): Known {
  return {
    names: new Map(),
    isSorted: true,
    lastId: "",
    hasUnknown: false,
    isOverdue: false,
    fromId: "",
    arrivedId: undefined,
    arrival: 0,
    lookedAtMs: NEVER,
    dueAtMs: NEVER,
  };
}

/** The lower of two ids. */
export function lower(one: string | undefined, other: string): string {
  return one === undefined || other < one ? other : one;
}
