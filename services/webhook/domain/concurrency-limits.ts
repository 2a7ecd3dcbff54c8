/**
 * ConcurrencyLimiter: how many requests may be in the air, for one endpoint, for one tenant, and in all.
 *
 * An endpoint is `fresh`, `fast` or `slow`:
 * - fresh: nothing is known of it. It may hold one or two slots until it has answered once: each is
 *   a connection with a handshake, which the next ones spare because they resume its session.
 * - fast: its last use came within a second. It may hold as many slots as its window has: a
 *   few at first, one more with each use that shows that more slots would help: it took its time
 *   on the way, or more is waiting behind it than the window will soon have got through. Each slot
 *   is a connection, and making one costs more than many requests on it.
 * - slow: its last use took longer, or one has been awaited for longer. It needs more slots for
 *   the same rate: a number to begin with, and two more for each that is kept waiting. So one that
 *   only this process' own load made slow does not get a hundred new connections, whose handshakes
 *   would be more load; and it keeps the window that it had. One that let an attempt run into its
 *   timeout has all it may hold: what is due to it would otherwise wait behind attempts that wait.
 *
 * Slow heldByEndpoint hold their slots long, so they share a part of all slots, and fresh ones, which
 * may turn out slow, a larger part with them. However many heldByEndpoint hang, old or new, the rest
 * is there for those that use. The same holds within a tenant: two of its heldByEndpoint that hang
 * leave a part of its slots to the others.
 */

/** The caps. */
export type ConcurrencyLimits = {
  readonly perEndpoint: number;
  readonly perTenant: number;
  /** How many of `perTenant` the tenant's slow heldByEndpoint may acquire together. */
  readonly slowPerTenant: number;
  readonly total: number;
  /** How many of `total` slow heldByEndpoint may acquire together. */
  readonly slowTotal: number;
  /** How many of `total` slow and fresh heldByEndpoint may hold together. */
  readonly unprovenTotal: number;
  /** How many fresh heldByEndpoint may acquire together: what paces the handshakes after a start. */
  readonly freshTotal: number;
  /** How many an endpoint may hold before its first use. */
  readonly freshWindow: number;
  /** Its window after it. */
  readonly window: number;
  /** How many a slow endpoint may hold before any use keeps waiting. */
  readonly slowWindow: number;
  /** An use that took this long, in milliseconds, was none: the endpoint hangs. */
  readonly hangMs: number;
};

/** What a slot was held for. */
export type PermitUse = {
  /** How long it took, in milliseconds; 0 when the endpoint was not asked. */
  readonly durationMs: number;
  readonly wasOverdue?: boolean;
  readonly waiting?: number;
};

/** ConcurrencyLimiter of one process. */
export type ConcurrencyLimiter = {
  /** How many slots the endpoint could acquire now. */
  available(tenantId: string, endpointId: string): number;
  acquire(tenantId: string, endpointId: string): boolean;
  /**
   * Gives a slot back; `durationMs` says how long the use took, and marks the endpoint.
   * `wasOverdue` says that `markSlow` was called for it, `waiting` how many wait for a slot.
   */
  release(tenantId: string, endpointId: string, use: PermitUse): void;
  /** Marks an endpoint one of whose answers is awaited for longer than `SLOW_RESPONSE_MS`. */
  markSlow(endpointId: string): void;
  /** Tells how long a fresh endpoint took to use before this process began. */
  seedLatency(endpointId: string, durationMs: number): void;
  isSlow(endpointId: string): boolean;
  /** Tells whether it answers within `QUICK_RESPONSE_MS`, or little later. */
  isQuick(endpointId: string): boolean;
  readonly inUse: PermitsInUse;
};

/** ConcurrencyLimiter held now: by all, by slow heldByEndpoint, and by fast ones. */
export type PermitsInUse = { readonly all: number; readonly slow: number; readonly fast: number };

/** An use that takes longer than this marks its endpoint as slow, in milliseconds. */
export const SLOW_RESPONSE_MS = 1000;

/**
 * Answers quicker than this, in milliseconds, do not widen a window by themselves: what is there
 * already is enough, unless what waits would still acquire longer than the second.
 */
export const WINDOW_RESPONSE_MS = 25;
const WINDOW_WAIT_MS = 100;

/**
 * An use within the first, in milliseconds, is there before a database has noted much: its
 * endpoint is quick, until an use takes longer than the second.
 */
export const QUICK_RESPONSE_MS = 100;
const QUICK_NO_MORE_MS = 250;

/** Endpoints remembered as fast or slow; the least recently marked are forgotten first. */
const MARKS_MAX = 20_000;

/** Makes the slots of a process. */
export function createConcurrencyLimiter(limits: ConcurrencyLimits): ConcurrencyLimiter {
  const heldByEndpoint = new Map<string, number>();
  /** Tenants' heldByEndpoint that hold any. */
  const endpointsByTenant = new Map<string, Set<string>>();
  const marks = new Map<string, "fast" | "slow">();
  const quick = new Set<string>();
  /** How many answers are awaited for longer than `SLOW_RESPONSE_MS`. */
  const overdue = new Map<string, number>();
  /** Windows that have grown. One slow use among many does not begin a window anew. */
  const windows = new Map<string, number>();
  /** Slow heldByEndpoint that let an attempt run into its timeout. */
  const hung = new Set<string>();
  const heldByKind = { fresh: 0, fast: 0, slow: 0 };
  const all = () => heldByKind.fresh + heldByKind.fast + heldByKind.slow;
  const kindOf = (endpointId: string) => marks.get(endpointId) ?? "fresh";

  function capOf(endpointId: string): number {
    const kind = kindOf(endpointId);
    if (hung.has(endpointId)) return limits.perEndpoint;
    if (kind === "slow") {
      const waiting = overdue.get(endpointId) ?? 0;
      const ramp = limits.slowWindow + 2 * waiting;
      return Math.min(limits.perEndpoint, Math.max(ramp, windows.get(endpointId) ?? 0));
    }
    if (kind === "fresh") return Math.min(limits.perEndpoint, limits.freshWindow);
    return Math.min(limits.perEndpoint, windows.get(endpointId) ?? limits.window);
  }

  /** What a tenant holds: in all, and of it by slow heldByEndpoint. It has a handful of them. */
  function heldOf(tenantId: string): { readonly all: number; readonly slow: number } {
    const held = { all: 0, slow: 0 };
    for (const endpointId of endpointsByTenant.get(tenantId) ?? []) {
      const count = heldByEndpoint.get(endpointId) ?? 0;
      held.all += count;
      if (kindOf(endpointId) === "slow") held.slow += count;
    }
    return held;
  }

  function available(tenantId: string, endpointId: string): number {
    const kind = kindOf(endpointId);
    const ofTenant = heldOf(tenantId);
    const limitsLeft = [
      capOf(endpointId) - (heldByEndpoint.get(endpointId) ?? 0),
      limits.perTenant - ofTenant.all,
      limits.total - all(),
    ];
    if (kind !== "fast") limitsLeft.push(limits.unprovenTotal - heldByKind.fresh - heldByKind.slow);
    if (kind === "slow") {
      limitsLeft.push(limits.slowTotal - heldByKind.slow, limits.slowPerTenant - ofTenant.slow);
    }
    if (kind === "fresh") limitsLeft.push(limits.freshTotal - heldByKind.fresh);
    return Math.max(0, Math.min(...limitsLeft));
  }

  function setMark(endpointId: string, mark: "fast" | "slow" | undefined): void {
    const before = kindOf(endpointId);
    const after = mark ?? "fresh";
    if (before === after) return;
    const held = heldByEndpoint.get(endpointId) ?? 0;
    heldByKind[before] -= held;
    heldByKind[after] += held;
    marks.delete(endpointId);
    if (mark !== undefined) marks.set(endpointId, mark);
    if (hung.delete(endpointId) || mark === undefined) windows.delete(endpointId);
    quick.delete(endpointId);
    if (marks.size > MARKS_MAX) {
      const [oldest] = marks.keys();
      if (oldest !== undefined) setMark(oldest, undefined);
    }
  }

  function noteHanging(endpointId: string, durationMs: number): void {
    if (durationMs >= limits.hangMs && kindOf(endpointId) === "slow") hung.add(endpointId);
  }

  return {
    available,
    acquire(tenantId, endpointId) {
      if (available(tenantId, endpointId) === 0) return false;
      heldByEndpoint.set(endpointId, (heldByEndpoint.get(endpointId) ?? 0) + 1);
      const holders = endpointsByTenant.get(tenantId);
      if (holders === undefined) endpointsByTenant.set(tenantId, new Set([endpointId]));
      else holders.add(endpointId);
      heldByKind[kindOf(endpointId)] += 1;
      return true;
    },
    release(tenantId, endpointId, { durationMs, wasOverdue = false, waiting = 0 }) {
      if (wasOverdue) lower(overdue, endpointId);
      const window = capOf(endpointId);
      const wasFull =
        kindOf(endpointId) === "fast" && (heldByEndpoint.get(endpointId) ?? 0) >= window;
      lower(heldByEndpoint, endpointId);
      if (!heldByEndpoint.has(endpointId)) leave(endpointsByTenant, tenantId, endpointId);
      heldByKind[kindOf(endpointId)] -= 1;
      setMark(endpointId, durationMs > SLOW_RESPONSE_MS ? "slow" : "fast");
      noteHanging(endpointId, durationMs);
      if (durationMs > 0 && durationMs <= QUICK_RESPONSE_MS) quick.add(endpointId);
      else if (durationMs === 0 || durationMs > QUICK_NO_MORE_MS) quick.delete(endpointId);
      const isNarrow =
        durationMs > WINDOW_RESPONSE_MS || waiting * durationMs > WINDOW_WAIT_MS * window;
      if (wasFull && isNarrow && durationMs <= SLOW_RESPONSE_MS) {
        windows.set(endpointId, Math.min(limits.perEndpoint, window + 1));
      }
    },
    markSlow(endpointId) {
      overdue.set(endpointId, (overdue.get(endpointId) ?? 0) + 1);
      setMark(endpointId, "slow");
    },
    seedLatency(endpointId, durationMs) {
      if (durationMs <= SLOW_RESPONSE_MS || kindOf(endpointId) !== "fresh") return;
      setMark(endpointId, "slow");
      noteHanging(endpointId, durationMs);
    },
    isSlow: (endpointId) => marks.get(endpointId) === "slow",
    isQuick: (endpointId) => quick.has(endpointId),
    get inUse() {
      return { all: all(), slow: heldByKind.slow, fast: heldByKind.fast };
    },
  };
}

function leave(groups: Map<string, Set<string>>, group: string, member: string): void {
  const members = groups.get(group);
  members?.delete(member);
  if (members?.size === 0) groups.delete(group);
}

function lower(counts: Map<string, number>, key: string): void {
  const next = (counts.get(key) ?? 1) - 1;
  if (next <= 0) counts.delete(key);
  else counts.set(key, next);
}
