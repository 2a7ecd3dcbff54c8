/**
 * First attempts that run before their delivery is stored (ADR 64). A fast endpoint responds within
 * milliseconds, so its delivery is written once, with the result, instead of twice.
 *
 * The event is acknowledged after that write. A process that dies before it attempts the redelivered
 * event again under the same ids, as after any crash between a request and the write of its result.
 * A redelivered event is stored first (`deliver-events.ts`).
 */

import { type Clock, steadyClock } from "../../shared/core/clock.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { AttemptResult } from "./ports.ts";

/** The attempts of this process whose deliveries are not stored yet. */
export type AttemptsBeforeStore = {
  /** Whether the delivery is being attempted and will be stored afterwards. */
  isRunning(deliveryId: string): boolean;
  /** Resolves when the delivery is stored, or storing it failed. */
  finished(deliveryId: string): Promise<void>;
  /** Whether this process stored the delivery recently. */
  wasStored(deliveryId: string): boolean;
  /** Records deliveries that were stored without `begin`. */
  markStored(deliveryIds: readonly string[]): void;
  /** Begins an attempt: `results` waits for its result under this lease. */
  begin(delivery: StartedDelivery, leaseId: string): void;
  /**
   * Returns the results that arrive within `wait`. A later result waits in `offer` until the
   * delivery is stored.
   */
  results(deliveryIds: readonly string[], wait: Wait): Promise<ReadonlyMap<string, AttemptResult>>;
  /** Ends attempts whose deliveries are stored, or could not be. */
  finish(deliveryIds: readonly string[]): void;
  /**
   * Takes a result and returns true, or returns false once the delivery is stored: then the caller
   * writes the result like any other.
   */
  offer(result: AttemptResult): Promise<boolean>;
};

/** A delivery whose attempt begins. */
export type StartedDelivery = { readonly id: string; readonly endpointId: string };

/**
 * How long `results` waits: `quietMs` at first, then up to `limitMs` in all, while more than a few results are
 * missing from endpoints that responded to any request within the last `quietMs`.
 */
export type Wait = { readonly quietMs: number; readonly limitMs: number };

/**
 * Stored deliveries kept in this cache. Duplicates are published within seconds, and the stream
 * removes them for two minutes. A later duplicate may be attempted again under the same ids.
 */
const STORED_MAX = 20_000;

/** A batch does not wait for its last 8 results, or its last eighth if that is more: writing those twice is cheaper. */
const FEW = { deliveries: 8, share: 1 / 8 } as const;

/** Endpoints whose last response time is cached. */
const RESPONSES_MAX = 20_000;

type Started = {
  readonly endpointId: string;
  readonly leaseId: string;
  result?: AttemptResult;
  isBeingStored: boolean;
  readonly responded: PromiseWithResolvers<void>;
  readonly stored: PromiseWithResolvers<void>;
};

/** The monotonic clock, and a wait for work that ends after some milliseconds of that clock. */
export type MonotonicTime = Clock & {
  answerWithin<T>(work: Promise<T>, ms: number): Promise<T | undefined>;
};

const PROCESS_TIME: MonotonicTime = { ...steadyClock, answerWithin };

/** Holds the attempts of one batch of events. */
export function createAttemptsBeforeStore(time: MonotonicTime = PROCESS_TIME): AttemptsBeforeStore {
  const started = new Map<string, Started>();
  const stored = new Map<string, true>();
  /** When each endpoint last responded to any request, by the monotonic clock. */
  const responses = new Map<string, number>();

  function isWorthWaiting(begun: readonly Started[], sinceMs: number, wait: Wait): boolean {
    const nowMs = time.now();
    const waitedMs = nowMs - sinceMs;
    const missing = begun.filter(
      ({ result, endpointId }) =>
        !result && nowMs - Math.max(sinceMs, responses.get(endpointId) ?? 0) < wait.quietMs,
    );
    if (waitedMs < wait.quietMs) return missing.length > 0;
    const few = Math.max(FEW.deliveries, begun.length * FEW.share);
    return waitedMs < wait.limitMs && missing.length > few;
  }

  function markStored(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) setRecent(stored, id, true, STORED_MAX);
  }

  return {
    isRunning: (deliveryId) => started.has(deliveryId),
    finished: async (deliveryId) => started.get(deliveryId)?.stored.promise,
    wasStored: (deliveryId) => stored.has(deliveryId),
    begin({ id, endpointId }, leaseId) {
      const [responded, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      started.set(id, { endpointId, leaseId, isBeingStored: false, responded, stored });
    },
    async results(deliveryIds, wait) {
      const begun = deliveryIds.flatMap((id) => started.get(id) ?? []);
      const all = Promise.all(begun.map(({ responded }) => responded.promise));
      const sinceMs = time.now();
      while (isWorthWaiting(begun, sinceMs, wait)) {
        await time.answerWithin(all, wait.quietMs / 4);
      }
      for (const one of begun) one.isBeingStored = true;
      const results = begun.flatMap(({ result }) => result ?? []);
      return new Map(results.map((result) => [result.claimed.id, result]));
    },
    finish(deliveryIds) {
      for (const id of deliveryIds) {
        started.get(id)?.stored.resolve();
        started.delete(id);
      }
      markStored(deliveryIds);
    },
    markStored,
    async offer(result) {
      const { id, endpointId, leaseId } = result.claimed;
      setRecent(responses, endpointId, time.now(), RESPONSES_MAX);
      const one = started.get(id);
      if (one === undefined || one.leaseId !== leaseId) return false;
      if (one.isBeingStored) {
        await one.stored.promise;
        return false;
      }
      one.result = result;
      one.responded.resolve();
      return true;
    },
  };
}
