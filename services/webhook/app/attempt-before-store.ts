/**
 * First attempts that are made before their delivery is stored. An endpoint that answers within
 * milliseconds has answered before a database could note that it will be asked, so its delivery is
 * written once, with the result, instead of twice.
 *
 * The event is acknowledged after that write. Should the process die before it, the event comes again
 * and is attempted again under the same ids, as after any death between a request and the note of
 * its answer; what comes again is stored first (`deliver-events.ts`).
 */

import { answerWithin } from "../../shared/flow/backoff.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { Settlement } from "./ports.ts";

/** Deliveries that are attempted before they are stored. */
export type EarlyAttempts = {
  /** Tells whether the delivery is attempted right now, and will be stored after that. */
  isUnderWay(deliveryId: string): boolean;
  /** Answers when that is over, whatever came of it. */
  ended(deliveryId: string): Promise<void>;
  /** Tells whether the delivery was stored here of late. */
  isKnown(deliveryId: string): boolean;
  /** To be told what was stored without having been expected. */
  noteKnown(deliveryIds: readonly string[]): void;
  /** From now on the result of this delivery's attempt under this lease is kept for `results`. */
  expect(delivery: Expected, leaseId: string): void;
  /**
   * Answers the results when all are there or waiting has lost its worth, and keeps no later one:
   * what comes after this waits until the delivery is stored.
   */
  results(deliveryIds: readonly string[], wait: Wait): Promise<ReadonlyMap<string, Settlement>>;
  /** To be told when what was expected is stored, or could not be. */
  end(deliveryIds: readonly string[]): void;
  /**
   * Keeps a result, and answers true; or answers false, at the latest when the delivery is stored:
   * then it is to be written as any other.
   */
  keep(settlement: Settlement): Promise<boolean>;
};

/** A delivery that is about to be attempted. */
export type Expected = { readonly id: string; readonly endpointId: string };

/**
 * How long results are waited for, in milliseconds: `quietMs`, and from then on while many are owed
 * by endpoints that answer anything at least every `quietMs`; no longer than `limitMs`.
 */
export type Wait = { readonly quietMs: number; readonly limitMs: number };

/**
 * Deliveries remembered: what the stream is told twice, it is told within seconds. Beyond its two
 * minutes of recognising repeats, one may be attempted once more: receivers know it by its ids.
 */
const KNOWN_MAX = 20_000;

/** The last few may hang: that they are written twice costs less than what waits behind them. */
const FEW = { deliveries: 8, share: 1 / 8 } as const;

/** Endpoints whose last answer is remembered. */
const ANSWERS_MAX = 20_000;

type Early = {
  readonly endpointId: string;
  readonly leaseId: string;
  result?: Settlement;
  isBeingStored: boolean;
  readonly answered: PromiseWithResolvers<void>;
  readonly stored: PromiseWithResolvers<void>;
};

/** Makes the record of early attempts; it holds what one batch of events holds. */
export function createEarlyAttempts(): EarlyAttempts {
  const early = new Map<string, Early>();
  const known = new Map<string, true>();
  /** When endpoints last answered anything, by the monotonic clock. */
  const answers = new Map<string, number>();

  function isWorthWaiting(expected: readonly Early[], sinceMs: number, wait: Wait): boolean {
    const nowMs = performance.now();
    const waitedMs = nowMs - sinceMs;
    const owed = expected.filter(
      ({ result, endpointId }) =>
        !result && nowMs - Math.max(sinceMs, answers.get(endpointId) ?? 0) < wait.quietMs,
    );
    if (waitedMs < wait.quietMs) return owed.length > 0;
    const few = Math.max(FEW.deliveries, expected.length * FEW.share);
    return waitedMs < wait.limitMs && owed.length > few;
  }

  function noteKnown(deliveryIds: readonly string[]): void {
    for (const id of deliveryIds) setRecent(known, id, true, KNOWN_MAX);
  }

  return {
    isUnderWay: (deliveryId) => early.has(deliveryId),
    ended: async (deliveryId) => early.get(deliveryId)?.stored.promise,
    isKnown: (deliveryId) => known.has(deliveryId),
    expect({ id, endpointId }, leaseId) {
      const [answered, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      early.set(id, { endpointId, leaseId, isBeingStored: false, answered, stored });
    },
    async results(deliveryIds, wait) {
      const expected = deliveryIds.flatMap((id) => early.get(id) ?? []);
      const all = Promise.all(expected.map(({ answered }) => answered.promise));
      const sinceMs = performance.now();
      while (isWorthWaiting(expected, sinceMs, wait)) {
        await answerWithin(all, wait.quietMs / 4);
      }
      for (const one of expected) one.isBeingStored = true;
      const results = expected.flatMap(({ result }) => result ?? []);
      return new Map(results.map((result) => [result.claimed.id, result]));
    },
    end(deliveryIds) {
      for (const id of deliveryIds) {
        early.get(id)?.stored.resolve();
        early.delete(id);
      }
      noteKnown(deliveryIds);
    },
    noteKnown,
    async keep(settlement) {
      const { id, endpointId, leaseId } = settlement.claimed;
      setRecent(answers, endpointId, performance.now(), ANSWERS_MAX);
      const one = early.get(id);
      if (one === undefined || one.leaseId !== leaseId) return false;
      if (one.isBeingStored) {
        await one.stored.promise;
        return false;
      }
      one.result = settlement;
      one.answered.resolve();
      return true;
    },
  };
}
