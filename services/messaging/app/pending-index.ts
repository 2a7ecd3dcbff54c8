/**
 * The waiting messages of each queue: its tenants, and the ids of their messages.
 *
 * MongoDB keeps deleted index keys for minutes (its snapshot history), and a scan walks all of them: those before
 * the first waiting message, and those after the last one. Therefore this process learns the ids of new messages
 * from the process that adds them, itself or another one by notification, and reads messages by id. It scans the
 * index only for messages whose ids it does not know: overflow from large notifications, plus a full rescan every
 * 5 s in case a notification was lost.
 *
 * Messages that a carrier has put off are kept apart, so that they never take the places of those not tried yet.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { createRefreshAheadCache } from "../../shared/flow/refresh-ahead-cache.ts";
import type { Message, PriorityClass } from "../domain/message.ts";
import { queueName, waitingAt } from "../domain/queue-transitions.ts";
import type { QueueStore } from "./ports.ts";

/** A waiting message. */
export type PendingMessage = {
  readonly messageId: string;
  /** When it may be claimed; more than 0 when a carrier has put it off. */
  readonly dueAtMs: number;
};

/** The entry of a waiting message. */
export function toPending({ id, notBeforeMs }: Message): PendingMessage {
  return { messageId: id, dueAtMs: notBeforeMs };
}

/** `fresh` messages were not tried yet, or returned unsent; a carrier has put off the others. */
export type PendingKind = "fresh" | "putOff";

/** Messages of one tenant that entered a queue. */
export type Arrival = {
  readonly priority: PriorityClass;
  readonly tenantId: string;
  /** The id of the first of these messages. */
  readonly messageId: string;
  /** When the last of these messages becomes due. */
  readonly dueAtMs: number;
  /** Each of these messages; undefined when there are too many for a notification. */
  readonly messages: readonly PendingMessage[] | undefined;
};

/** The waiting messages of each queue that this process knows. */
export type PendingIndex = {
  add(connectorId: string, arrival: Arrival): void;
  /** The tenants that may have waiting messages; reads the database when the last result is old. */
  list(connectorId: string, priority: PriorityClass): Promise<readonly string[]>;
  /** Connectors with waiting messages. */
  connectors(): Promise<string[]>;
  /** The known messages of a tenant and kind that may be claimed at an instant; oldest first. */
  due(place: TenantQueue, kind: PendingKind, nowMs: number, max: number): readonly PendingMessage[];
  /** Removes messages that were claimed or not found. One that entered the queue again meanwhile stays. */
  remove(place: TenantQueue, gone: readonly PendingMessage[]): void;
  /** The current sequence number of arrivals, for `retain`. */
  mark(): number;
  /**
   * Removes the tenants of a queue that are not among these, which were read after `mark`, unless messages of
   * theirs arrived since. Needed at connectors where no carrier claims.
   */
  retain(
    connectorId: string,
    priority: PriorityClass,
    tenantIds: readonly string[],
    mark: number,
  ): void;
  /**
   * Whether to scan for unknown messages: there may be some, and fewer than `wanted` known fresh ones are due, or the
   * tenant was not scanned since the last full rescan. So unknown messages do not starve behind known ones.
   */
  needsScan(place: TenantQueue, nowMs: number, wanted: number): boolean;
  /** Whether messages may wait whose ids are unknown. */
  hasUnknown(place: TenantQueue): boolean;
  /** Starts a scan of these tenants; returns the id at which it begins. */
  startScan(places: readonly TenantQueue[], nowMs: number): string;
  /**
   * Adds the messages of a tenant that a scan found. `isAll` is false when the scan stopped before the last one; then
   * `beyond` has messages after that end.
   */
  endScan(
    place: TenantQueue,
    found: readonly PendingMessage[],
    isAll: boolean,
    beyond?: readonly PendingMessage[],
  ): void;
};

/** One tenant's messages in one queue. */
export type TenantQueue = {
  readonly connectorId: string;
  readonly priority: PriorityClass;
  readonly tenantId: string;
};

/** Interval of full rescans: the delay after a lost notification. */
const RESCAN_INTERVAL_MS = 5000;

/** The index keeps no message that becomes due later than this from now; a full rescan finds it. */
const LATER_MAX_MS = 600_000;

/** The most ids per tenant, queue and kind, and in total; scans find the others. */
const IDS_MAX: Readonly<Record<PendingKind, number>> = { fresh: 1000, putOff: 500 };
const IDS_TOTAL_MAX = 200_000;

type Ids = {
  messages: Map<string, PendingMessage>;
  /** True while the messages are in order of id. */
  isSorted: boolean;
  lastId: string;
};

type TenantState = {
  readonly fresh: Ids;
  readonly putOff: Ids;
  hasUnknown: boolean;
  /** True when the tenant was not scanned since the last full rescan. */
  isOverdue: boolean;
  /** No unknown message waits before this id; empty when that is not certain. */
  fromId: string;
  /** The first unknown message that arrived during the current scan. */
  arrivedId: string | undefined;
  /** The sequence number of the tenant's latest arrival. */
  arrival: number;
  /** The instant of the current scan. */
  scannedAtMs: number;
  /** When the last unknown message becomes due; scans continue until then. */
  dueAtMs: number;
};

const NEVER = Number.NEGATIVE_INFINITY;

/** Scans of one queue must not overlap. */
export function createPendingIndex(
  store: Pick<QueueStore, "queueNames" | "waitingTenants">,
  clock: Clock,
): PendingIndex {
  const queues = new Map<string, { tenants: Map<string, TenantState>; readAtMs: number }>();
  let idsTotal = 0;
  let arrivals = 0;
  /** Queues that are not empty: one query for all, because most connectors are idle. */
  const inUse = createRefreshAheadCache<ReadonlySet<string>>({
    maxAgeMs: RESCAN_INTERVAL_MS,
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

  function find({ connectorId, priority, tenantId }: TenantQueue): TenantState | undefined {
    return queue(connectorId, priority).known.tenants.get(tenantId);
  }

  function open({ connectorId, priority, tenantId }: TenantQueue): TenantState {
    const { tenants } = queue(connectorId, priority).known;
    let known = tenants.get(tenantId);
    if (known === undefined) {
      known = newTenantState();
      tenants.set(tenantId, known);
    }
    return known;
  }

  function dropIfEmpty({ connectorId, priority, tenantId }: TenantQueue, known: TenantState): void {
    if (sizeOf(known) > 0 || known.hasUnknown) return;
    queue(connectorId, priority).known.tenants.delete(tenantId);
  }

  /** Drops ids, because other replicas may have claimed the messages; scans find those that still wait. */
  function startRescan(known: TenantState, nowMs: number): void {
    for (const { messages } of [known.fresh, known.putOff]) {
      for (const [messageId, { dueAtMs }] of messages) {
        if (dueAtMs > nowMs) continue;
        messages.delete(messageId);
        idsTotal -= 1;
      }
    }
    known.hasUnknown = true;
    known.isOverdue = true;
    known.fromId = "";
  }

  /** Adds a message; false if the index is full. */
  function addMessage(known: TenantState, arrival: PendingMessage): boolean {
    const kind = kindOf(arrival);
    const ids = known[kind];
    if (known[kind === "fresh" ? "putOff" : "fresh"].messages.delete(arrival.messageId)) {
      idsTotal -= 1;
    }
    if (!ids.messages.has(arrival.messageId)) {
      if (ids.messages.size >= IDS_MAX[kind] || idsTotal >= IDS_TOTAL_MAX) return false;
      idsTotal += 1;
      if (arrival.messageId < ids.lastId) ids.isSorted = false;
      else ids.lastId = arrival.messageId;
    }
    ids.messages.set(arrival.messageId, arrival);
    return true;
  }

  function addUnknown(known: TenantState, messageId: string, dueAtMs: number): void {
    known.fromId = known.hasUnknown ? lower(known.fromId, messageId) : messageId;
    known.dueAtMs = known.hasUnknown ? Math.max(known.dueAtMs, dueAtMs) : dueAtMs;
    known.arrivedId = lower(known.arrivedId, messageId);
    known.hasUnknown = true;
  }

  return {
    add(connectorId, { priority, tenantId, messageId, dueAtMs, messages }) {
      const latestMs = clock.now() + LATER_MAX_MS;
      const place = { connectorId, priority, tenantId };
      const known = open(place);
      arrivals += 1;
      known.arrival = arrivals;
      if (messages === undefined) {
        addUnknown(known, messageId, Math.min(dueAtMs, latestMs));
        return;
      }
      for (const one of messages) {
        if (one.dueAtMs > latestMs || addMessage(known, one)) continue;
        addUnknown(known, one.messageId, one.dueAtMs);
      }
      dropIfEmpty(place, known);
    },
    async list(connectorId, priority) {
      const { name, known } = queue(connectorId, priority);
      const ageMs = clock.now() - known.readAtMs;
      // After the clock was set back the age is unknown.
      const isOld = ageMs < 0 || ageMs >= RESCAN_INTERVAL_MS;
      if (isOld && (await inUse.get("")).has(name)) {
        const atMs = clock.now();
        const tenantIds = await store.waitingTenants(connectorId, priority);
        known.readAtMs = atMs;
        for (const tenantId of new Set([...known.tenants.keys(), ...tenantIds])) {
          startRescan(open({ connectorId, priority, tenantId }), atMs);
        }
      }
      return [...known.tenants.keys()];
    },
    async connectors() {
      const own = [...queues].filter(([, { tenants }]) => tenants.size > 0).map(([name]) => name);
      const names = new Set([...own, ...(await inUse.get(""))]);
      return [...new Set([...names].flatMap((name) => waitingAt(name) ?? []))];
    },
    due(place, kind, nowMs, max) {
      const known = find(place);
      return known === undefined ? [] : dueMessages(known[kind], nowMs, max);
    },
    remove(place, gone) {
      const known = find(place);
      if (known === undefined) return;
      for (const one of gone) {
        const { messages } = known[kindOf(one)];
        if (messages.get(one.messageId) !== one) continue;
        messages.delete(one.messageId);
        idsTotal -= 1;
      }
      dropIfEmpty(place, known);
    },
    mark: () => arrivals,
    retain(connectorId, priority, tenantIds, mark) {
      const { tenants } = queue(connectorId, priority).known;
      const kept = new Set(tenantIds);
      for (const [tenantId, known] of tenants) {
        if (kept.has(tenantId) || known.arrival > mark) continue;
        idsTotal -= sizeOf(known);
        tenants.delete(tenantId);
      }
    },
    needsScan(place, nowMs, wanted) {
      const known = find(place);
      if (known?.hasUnknown !== true) return false;
      return known.isOverdue || dueMessages(known.fresh, nowMs, wanted).length < wanted;
    },
    hasUnknown: (place) => find(place)?.hasUnknown === true,
    startScan(places, nowMs) {
      let first: string | undefined;
      for (const place of places) {
        const known = find(place);
        if (known === undefined) continue;
        known.arrivedId = undefined;
        known.scannedAtMs = nowMs;
        first = lower(first, known.fromId);
      }
      return first ?? "";
    },
    endScan(place, found, isAll, beyond = []) {
      const known = find(place);
      if (known === undefined) return;
      const { arrivedId, scannedAtMs } = known;
      known.isOverdue = false;
      const isUnknown = (one: PendingMessage) => {
        const before = known[kindOf(one)].messages.get(one.messageId);
        if (before !== undefined && before.dueAtMs <= scannedAtMs) return false;
        return !addMessage(known, one);
      };
      const unknown = found.find(isUnknown)?.messageId;
      beyond.forEach(isUnknown);
      if (scannedAtMs >= known.dueAtMs) {
        const next = unknown ?? (isAll ? undefined : found.at(-1)?.messageId);
        known.hasUnknown = next !== undefined || arrivedId !== undefined;
        known.fromId = next === undefined ? (arrivedId ?? "") : lower(arrivedId, next);
      }
      dropIfEmpty(place, known);
    },
  };
}

/** The known messages that are due at an instant, oldest first, at most `max`. */
function dueMessages(ids: Ids, nowMs: number, max: number): PendingMessage[] {
  if (!ids.isSorted) {
    ids.messages = new Map([...ids.messages].sort(([one], [other]) => (one < other ? -1 : 1)));
    ids.isSorted = true;
  }
  const due: PendingMessage[] = [];
  for (const one of ids.messages.values()) {
    if (due.length === max) break;
    if (one.dueAtMs <= nowMs) due.push(one);
  }
  return due;
}

function kindOf({ dueAtMs }: PendingMessage): PendingKind {
  return dueAtMs > 0 ? "putOff" : "fresh";
}

function sizeOf({ fresh, putOff }: TenantState): number {
  return fresh.messages.size + putOff.messages.size;
}

function newIds(): Ids {
  return { messages: new Map(), isSorted: true, lastId: "" };
}

function newTenantState(): TenantState {
  return {
    fresh: newIds(),
    putOff: newIds(),
    hasUnknown: false,
    isOverdue: false,
    fromId: "",
    arrivedId: undefined,
    arrival: 0,
    scannedAtMs: NEVER,
    dueAtMs: NEVER,
  };
}

/** The lower of two ids. */
export function lower(one: string | undefined, other: string): string {
  return one === undefined || other < one ? other : one;
}
