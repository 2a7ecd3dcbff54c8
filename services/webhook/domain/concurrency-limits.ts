/**
 * Limits for concurrent requests: per endpoint, per tenant, and in all. A request holds one permit.
 *
 * An endpoint is `fresh`, `fast` or `slow`:
 * - fresh: it has not responded yet. It may hold one or two permits: each needs a connection with a
 *   handshake, and later connections resume the first TLS session.
 * - fast: its last response took at most a second. It may hold as many permits as its window, which
 *   starts small. The window grows by one with each response that shows a need: the response took
 *   its time, or more deliveries wait than the window can soon send. Each permit is a connection,
 *   and a new connection costs more than many requests.
 * - slow: its last response took longer, or a request has waited longer. It needs more permits for
 *   the same rate: a starting number, and two more for each waiting request. An endpoint made slow
 *   by the load of this process does not get a hundred new connections, whose handshakes would add
 *   load. It keeps its window. An endpoint that let a request time out may hold all its permits:
 *   its deliveries would otherwise wait behind requests that hang.
 *
 * Slow endpoints hold permits long, so together they get a part of all permits. Fresh endpoints,
 * which may become slow, share a larger part with them. The rest serves fast endpoints, however
 * many others hang. The same holds within a tenant: two endpoints that hang leave some of its
 * permits to the others.
 */

/** The limits. */
export type ConcurrencyLimits = {
  readonly perEndpoint: number;
  readonly perTenant: number;
  /** Share of `perTenant` for the tenant's slow endpoints together. */
  readonly slowPerTenant: number;
  readonly total: number;
  /** Share of `total` for slow endpoints together. */
  readonly slowTotal: number;
  /** Share of `total` for slow and fresh endpoints together. */
  readonly unprovenTotal: number;
  /** Permits for fresh endpoints together: limits the handshakes after a start. */
  readonly freshTotal: number;
  /** Permits of an endpoint before its first response. */
  readonly freshWindow: number;
  /** Permits of an endpoint after its first response. */
  readonly window: number;
  /** Permits of a slow endpoint while no request waits long. */
  readonly slowWindow: number;
  /** A request that took this long, in milliseconds, timed out: the endpoint hangs. */
  readonly hangMs: number;
};

/** The request that held a permit. */
export type PermitUse = {
  /** Duration of the response, in milliseconds; 0 when no request was made. */
  readonly durationMs: number;
  readonly wasOverdue?: boolean;
  readonly waiting?: number;
};

/** The permits of one process. */
export type ConcurrencyLimiter = {
  /** Permits that the endpoint could acquire now. */
  available(tenantId: string, endpointId: string): number;
  acquire(tenantId: string, endpointId: string): boolean;
  /**
   * Releases a permit and updates the endpoint's class by the duration. `wasOverdue` says that
   * `markSlow` was called for the request, `waiting` how many deliveries wait for a permit.
   */
  release(tenantId: string, endpointId: string, use: PermitUse): void;
  /** Marks an endpoint as slow: a response has taken longer than `SLOW_RESPONSE_MS` already. */
  markSlow(endpointId: string): void;
  /** Seeds a fresh endpoint with a response time from before this process started. */
  seedLatency(endpointId: string, durationMs: number): void;
  isSlow(endpointId: string): boolean;
  /** Whether the endpoint has responded within `QUICK_RESPONSE_MS`, and since then within `QUICK_NO_MORE_MS`. */
  isQuick(endpointId: string): boolean;
  readonly inUse: PermitsInUse;
};

/** Permits held now: by all endpoints, by slow ones and by fast ones. */
export type PermitsInUse = { readonly all: number; readonly slow: number; readonly fast: number };

/** A slower response marks its endpoint as slow, in milliseconds. */
export const SLOW_RESPONSE_MS = 1000;

/**
 * A faster response, in milliseconds, does not widen a window by itself: the window suffices,
 * unless the waiting deliveries would take longer than `WINDOW_WAIT_MS`.
 */
const WINDOW_RESPONSE_MS = 25;
const WINDOW_WAIT_MS = 100;

/**
 * A response within `QUICK_RESPONSE_MS` arrives before a database write would end, so the endpoint
 * is quick, until a response takes longer than `QUICK_NO_MORE_MS`.
 */
const QUICK_RESPONSE_MS = 100;
const QUICK_NO_MORE_MS = 250;

/** Endpoints cached as fast or slow; the least recently marked are evicted first. */
const MARKS_MAX = 20_000;

export function createConcurrencyLimiter(limits: ConcurrencyLimits): ConcurrencyLimiter {
  const heldByEndpoint = new Map<string, number>();
  /** Endpoints that hold permits, by tenant. */
  const endpointsByTenant = new Map<string, Set<string>>();
  const marks = new Map<string, "fast" | "slow">();
  const quick = new Set<string>();
  /** Requests per endpoint that wait longer than `SLOW_RESPONSE_MS`. */
  const overdue = new Map<string, number>();
  /** Windows that have grown. One slow response among many does not reset a window. */
  const windows = new Map<string, number>();
  /** Slow endpoints that let a request time out. */
  const hung = new Set<string>();
  const heldByKind = { fresh: 0, fast: 0, slow: 0 };
  const all = () => heldByKind.fresh + heldByKind.fast + heldByKind.slow;
  const kindOf = (endpointId: string) => marks.get(endpointId) ?? "fresh";

  function limitOf(endpointId: string): number {
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

  /**
   * The permits of a tenant: all, and those of slow endpoints. A tenant has at most five endpoints.
   */
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
      limitOf(endpointId) - (heldByEndpoint.get(endpointId) ?? 0),
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

  function markHung(endpointId: string, durationMs: number): void {
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
      if (wasOverdue) decrement(overdue, endpointId);
      const window = limitOf(endpointId);
      const wasFull =
        kindOf(endpointId) === "fast" && (heldByEndpoint.get(endpointId) ?? 0) >= window;
      decrement(heldByEndpoint, endpointId);
      if (!heldByEndpoint.has(endpointId)) removeMember(endpointsByTenant, tenantId, endpointId);
      heldByKind[kindOf(endpointId)] -= 1;
      setMark(endpointId, durationMs > SLOW_RESPONSE_MS ? "slow" : "fast");
      markHung(endpointId, durationMs);
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
      markHung(endpointId, durationMs);
    },
    isSlow: (endpointId) => marks.get(endpointId) === "slow",
    isQuick: (endpointId) => quick.has(endpointId),
    get inUse() {
      return { all: all(), slow: heldByKind.slow, fast: heldByKind.fast };
    },
  };
}

function removeMember(groups: Map<string, Set<string>>, group: string, member: string): void {
  const members = groups.get(group);
  members?.delete(member);
  if (members?.size === 0) groups.delete(group);
}

function decrement(counts: Map<string, number>, key: string): void {
  const next = (counts.get(key) ?? 1) - 1;
  if (next <= 0) counts.delete(key);
  else counts.set(key, next);
}
