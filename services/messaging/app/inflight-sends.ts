/**
 * In-flight sends: they have a creation time and are neither stored nor refused. Lists order messages by creation
 * time and show them after their commit. So a list up to now would miss in-flight sends, and a later list of the
 * same window would show them. A gap-free list first waits for the in-flight sends of its window (ADR 90).
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { pause } from "../../shared/flow/backoff.ts";

/**
 * Resolves to true once a tenant's in-flight sends from before an instant have ended, to false after `limitMs`.
 * Undefined when there are none.
 */
export type InflightQuery = (
  tenantId: string,
  beforeMs: number,
  limitMs: number,
) => Promise<boolean> | undefined;

/** The in-flight sends of other replicas; best effort, because messages may be lost. */
export type InflightPeers = {
  /** Resolves to whether the sends of the other replicas ended within `limitMs`. */
  ended(tenantId: string, beforeMs: number, limitMs: number): Promise<boolean>;
  /** Sets the function that answers the queries of other replicas. */
  onQuery(ended: InflightQuery): void;
};

/** The in-flight sends of all replicas. */
export type InflightSends = {
  /** Adds a send of this process; call the result when the send is stored or refused. */
  begin(tenantId: string, atMs: number): () => void;
  /** Waits until no send from before an instant is in flight. Throws `service_unavailable` after 5 s. */
  waitFor(tenantId: string, beforeMs: number): Promise<void>;
};

type Send = { readonly atMs: number; readonly number: number };

/** A query that waits for sends from before an instant; sends that began after the query do not count. */
type Waiter = {
  readonly beforeMs: number;
  readonly lastNumber: number;
  readonly resolve: () => void;
};

/** The sends of a tenant in this process, in the order in which they began. */
type TenantSends = { readonly sends: Set<Send>; readonly waiters: Set<Waiter> };

/** A send takes at most 10 s until its commit, and the commit a minute. Older instants need no query to replicas. */
const SEND_MAX_MS = 120_000;
const WAIT_MAX_MS = 5000;
/** The clock skew between replicas that a query tolerates. */
export const SKEW_MAX_MS = 250;

export function createInflightSends(peers: InflightPeers, clock: Clock): InflightSends {
  const tenants = new Map<string, TenantSends>();
  let count = 0;

  const ended: InflightQuery = (tenantId, beforeMs, limitMs) => {
    const tenant = tenants.get(tenantId);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { beforeMs, lastNumber: count, resolve: () => resolve(true) };
    if (tenant === undefined || !isWaiting(waiter, tenant)) return undefined;
    const timer = setTimeout(() => resolve(false), limitMs);
    tenant.waiters.add(waiter);
    return promise.finally(() => {
      clearTimeout(timer);
      tenant.waiters.delete(waiter);
    });
  };

  // A query for an instant ahead of this clock first waits until then: a send may still begin before that instant.
  peers.onQuery((tenantId, beforeMs, limitMs) => {
    const behindMs = Math.min(beforeMs - clock.now(), SKEW_MAX_MS);
    if (behindMs <= 0) return ended(tenantId, beforeMs, limitMs);
    // A timer may fire a fraction of a millisecond early.
    return pause(behindMs + 1).then(() => ended(tenantId, beforeMs, limitMs - behindMs) ?? true);
  });

  return {
    begin(tenantId, atMs) {
      count += 1;
      const send: Send = { atMs, number: count };
      const tenant = tenants.get(tenantId) ?? { sends: new Set(), waiters: new Set() };
      tenants.set(tenantId, tenant);
      tenant.sends.add(send);
      return () => {
        tenant.sends.delete(send);
        if (tenant.sends.size === 0) tenants.delete(tenantId);
        for (const waiter of tenant.waiters) if (!isWaiting(waiter, tenant)) waiter.resolve();
      };
    },
    async waitFor(tenantId, beforeMs) {
      const isOld = beforeMs < clock.now() - SEND_MAX_MS;
      const areEnded = await Promise.all([
        ended(tenantId, beforeMs, WAIT_MAX_MS) ?? true,
        isOld || peers.ended(tenantId, beforeMs, WAIT_MAX_MS),
      ]);
      if (areEnded.every(Boolean)) return;
      const message = "Sends of this time range are still in progress; try again shortly.";
      throw new AppError("service_unavailable", message, { retryAfterMs: 1000 });
    },
  };
}

/** The oldest sends come first, so the loop usually ends at the first one. */
function isWaiting({ beforeMs, lastNumber }: Waiter, { sends }: TenantSends): boolean {
  for (const { atMs, number } of sends) {
    if (number > lastNumber) return false;
    if (atMs < beforeMs) return true;
  }
  return false;
}
