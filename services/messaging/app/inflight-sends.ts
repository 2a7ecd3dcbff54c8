/**
 * Sends that have their instant and are not stored yet, nor refused. A message shows in lists once it is
 * committed, by the instant at which its send began: a list up to now would miss what is under way, and
 * a later list of the same window would find it. So a list that is to miss nothing first waits for the
 * sends that would fall into it (ADR 90).
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { pause } from "../../shared/flow/backoff.ts";

/**
 * Answers whether the sends of a tenant with instants before this one, which are under way now, have
 * ended within a time; undefined when there are none.
 */
export type InflightQuery = (
  tenantId: string,
  beforeMs: number,
  limitMs: number,
) => Promise<boolean> | undefined;

/** What other replicas have under way; a hint, which may be lost. */
export type InflightPeers = {
  /** Answers whether theirs have ended within a time. */
  ended(tenantId: string, beforeMs: number, limitMs: number): Promise<boolean>;
  /** Has their questions answered. */
  onAsk(ended: InflightQuery): void;
};

/** The sends of all replicas that are under way. */
export type InflightSends = {
  /** Notes a send of this process as of its instant; to be told when it is stored or refused. */
  begin(tenantId: string, atMs: number): () => void;
  /**
   * Waits until no send is under way that would fall before an instant. Throws `service_unavailable`
   * when one takes too long.
   */
  settle(tenantId: string, beforeMs: number): Promise<void>;
};

type Send = { readonly atMs: number; readonly number: number };

/** Waits for the sends before an instant that began before it did. */
type Waiter = { readonly beforeMs: number; readonly lastNumber: number; readonly tell: () => void };

/** What a tenant has here; sends in the order in which they began. */
type OfTenant = { readonly sends: Set<Send>; readonly waiters: Set<Waiter> };

/** A send may take ten seconds until its commit, and that a minute; others are not asked about older ones. */
const SEND_MAX_MS = 120_000;
const WAIT_MAX_MS = 5000;
/** So far may a clock be behind the one that an instant comes from: it is waited for, with what begins meanwhile. */
export const SKEW_MAX_MS = 250;

/** Makes the notes of one replica. */
export function createInflightSends(peers: InflightPeers, clock: Clock): InflightSends {
  const tenants = new Map<string, OfTenant>();
  let count = 0;

  const ended: InflightQuery = (tenantId, beforeMs, limitMs) => {
    const tenant = tenants.get(tenantId);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { beforeMs, lastNumber: count, tell: () => resolve(true) };
    if (tenant === undefined || !isWaiting(waiter, tenant)) return undefined;
    const timer = setTimeout(() => resolve(false), limitMs);
    tenant.waiters.add(waiter);
    return promise.finally(() => {
      clearTimeout(timer);
      tenant.waiters.delete(waiter);
    });
  };

  /** To others, what this clock has not reached yet is under way: a send may still begin there. */
  peers.onAsk((tenantId, beforeMs, limitMs) => {
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
        for (const waiter of tenant.waiters) if (!isWaiting(waiter, tenant)) waiter.tell();
      };
    },
    async settle(tenantId, beforeMs) {
      const isOld = beforeMs < clock.now() - SEND_MAX_MS;
      const areEnded = await Promise.all([
        ended(tenantId, beforeMs, WAIT_MAX_MS) ?? true,
        isOld || peers.ended(tenantId, beforeMs, WAIT_MAX_MS),
      ]);
      if (areEnded.every(Boolean)) return;
      const message = "Sends that fall into this window are under way; ask again shortly.";
      throw new AppError("service_unavailable", message, { retryAfterMs: 1000 });
    },
  };
}

/** The oldest sends come first, and nearly always the first one answers. */
function isWaiting({ beforeMs, lastNumber }: Waiter, { sends }: OfTenant): boolean {
  for (const { atMs, number } of sends) {
    if (number > lastNumber) return false;
    if (atMs < beforeMs) return true;
  }
  return false;
}
