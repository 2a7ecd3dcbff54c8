/**
 * The sweeper. It sends reservations that stay open past the grace time to messaging, which either
 * returns their messages or fences the reservation: it writes a tombstone that prevents a late
 * commit of the send. Only a fenced reservation is released. When messaging does not answer,
 * nothing changes. Any number of replicas may sweep at once: every step is idempotent.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { CommandQueue } from "./command-queue.ts";
import type { DueReservation, WalletStore } from "./ports.ts";
import type { SettleMessages, SettlementRequest } from "./settle-messages.ts";

/** Messaging's answer about one reservation. */
export type Resolution = {
  readonly reservationId: string;
  /** No send exists, and none can be committed under this id later. */
  readonly fenced: boolean;
  /** Settlements of its messages that were sent, failed or cancelled. */
  readonly settlements: readonly SettlementRequest[];
};

/** Port to messaging; throws when messaging does not answer. */
export type ResolveReservations = (
  reservations: readonly DueReservation[],
) => Promise<readonly Resolution[]>;

/** Counts of one sweep, for logs and metrics. */
export type SweepResult = {
  readonly checked: number;
  readonly released: number;
  readonly settled: number;
  /** The last error, when some reservations could not be checked. */
  readonly failure?: unknown;
};

/**
 * Reservations per sweep. Each sweep reads the index from the earliest `check_at`. Sweeps before it moved keys away
 * from there, and MongoDB keeps removed keys for a time. Each read passes over them, so few large sweeps cost less than
 * many small ones.
 */
export const SWEEP_BATCH = 1000;
/** Messages per call to messaging: an answer of some 100 KB, far below the limit of 16 MiB. */
const CALL_MESSAGES_MAX = 4000;
/** A scheduled send keeps its reservation open for up to 90 days, so an hourly check is enough. */
const CHECK_INTERVAL_MAX_MS = 3_600_000;

/** Returns one pass over due reservations. Repeat it at once when `checked` is `SWEEP_BATCH`. */
export function createSweep(parts: {
  readonly store: Pick<WalletStore, "listDue" | "postpone">;
  readonly queue: CommandQueue;
  readonly settleMessages: SettleMessages;
  readonly resolve: ResolveReservations;
  readonly clock: Clock;
  readonly graceMs: number;
}): () => Promise<SweepResult> {
  const { store, queue, settleMessages, resolve, clock, graceMs } = parts;
  return async () => {
    const due = await store.listDue(clock.now(), SWEEP_BATCH);
    let result: SweepResult = { checked: 0, released: 0, settled: 0 };
    const failed: DueReservation[] = [];
    for (const batch of resolveBatches(due)) {
      try {
        result = addUp(result, await check(batch));
      } catch (error) {
        result = { ...result, failure: error };
        // An outage: the other calls would fail too, and those reservations stay due.
        if (isUnavailable(error)) return result;
        failed.push(...batch);
      }
    }
    // Other batches succeeded, so these are bad themselves. Postpone them: otherwise they would
    // fill every later sweep.
    if (failed.length > 0 && result.checked > 0) await postpone(failed);
    return result;
  };

  async function check(due: readonly DueReservation[]): Promise<SweepResult> {
    const resolutions = await resolve(due);
    const fenced = new Set(resolutions.flatMap((one) => (one.fenced ? [one.reservationId] : [])));
    const released = await releaseAll(due.filter(({ id }) => fenced.has(id)));
    const settled = await settleAll(resolutions.flatMap(({ settlements }) => settlements));
    await postpone(due);
    return { checked: due.length, ...released, ...settled };
  }

  /** Releases all at the same time, so that they share a transaction. */
  async function releaseAll(orphans: readonly DueReservation[]) {
    const result: { released: number; failure?: unknown } = { released: 0 };
    const release = ({ id, tenantId }: DueReservation) =>
      queue.execute(tenantId, { kind: "release", reservationId: id });
    for (const one of await Promise.allSettled(orphans.map(release))) {
      if (one.status === "fulfilled") {
        result.released += 1;
        continue;
      }
      if (isUnavailable(one.reason)) throw one.reason;
      result.failure = one.reason;
    }
    return result;
  }

  /** Sets the next check of each reservation; the store ignores closed ones. */
  function postpone(due: readonly DueReservation[]): Promise<void> {
    const nowMs = clock.now();
    return store.postpone(
      due.map(({ id, checks }) => ({ id, atMs: nowMs + nextCheckMs(graceMs, checks) })),
    );
  }

  /** Settles messages. An error of one wallet is reported and does not stop the others. */
  async function settleAll(requests: readonly SettlementRequest[]) {
    const result: { settled: number; failure?: unknown } = { settled: 0 };
    for (let from = 0; from < requests.length; from += 1000) {
      const results = await settleMessages(requests.slice(from, from + 1000));
      result.settled += results.filter(({ kind }) => kind === "settled").length;
      for (const one of results) {
        if (one.kind !== "unavailable") continue;
        if (isUnavailable(one.error)) throw one.error;
        result.failure = one.error;
      }
    }
    return result;
  }
}

/**
 * Divides reservations into calls of at most `CALL_MESSAGES_MAX` messages. A single larger
 * reservation gets a call of its own.
 */
export function resolveBatches<R extends { readonly messageCount: number }>(
  due: readonly R[],
): readonly (readonly R[])[] {
  const batches: R[][] = [];
  let messages = Number.POSITIVE_INFINITY;
  for (const reservation of due) {
    messages += reservation.messageCount;
    if (messages > CALL_MESSAGES_MAX) {
      batches.push([]);
      messages = reservation.messageCount;
    }
    batches.at(-1)?.push(reservation);
  }
  return batches;
}

function addUp(a: SweepResult, b: SweepResult): SweepResult {
  return {
    ...a,
    ...b,
    checked: a.checked + b.checked,
    released: a.released + b.released,
    settled: a.settled + b.settled,
  };
}

/** Delay until the next check of an open reservation: the grace time, doubled per check. */
export function nextCheckMs(graceMs: number, checks: number): number {
  const atLeastMs = Math.max(graceMs, 1000);
  return Math.min(atLeastMs * 2 ** Math.min(checks, 30), Math.max(CHECK_INTERVAL_MAX_MS, graceMs));
}
