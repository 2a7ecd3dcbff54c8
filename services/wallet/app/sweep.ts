/**
 * The sweeper: reservations that stay open past the grace time are taken to messaging, which
 * either knows their messages or fences them off. Nothing is released by guessing, and when
 * messaging does not answer, nothing is done. Any number of replicas may sweep at once: what they
 * do is idempotent, so doing it twice only costs time.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import type { CommandQueue } from "./command-queue.ts";
import type { DueReservation, WalletStore } from "./ports.ts";
import type { SettleMessages, SettleRequest } from "./settle-messages.ts";

/** What messaging says of one reservation. */
export type Resolution = {
  readonly reservationId: string;
  /** No send exists, and none can ever be committed under this id. */
  readonly fenced: boolean;
  /** Messages of it that were sent, failed or cancelled. */
  readonly settlements: readonly SettleRequest[];
};

/** Asks messaging; throws when it does not answer. */
export type ResolveReservations = (
  reservations: readonly DueReservation[],
) => Promise<readonly Resolution[]>;

/** What one sweep did, for logs and metrics. */
export type SweepResult = {
  readonly checked: number;
  readonly released: number;
  readonly settled: number;
  /** Why the rest was not checked; the last reason, where there are several. */
  readonly failure?: unknown;
};

/** Reservations per sweep. */
export const SWEEP_BATCH = 100;
/** Messages that one question is about: some hundred kilobytes of an answer, far from what a call may bring. */
const QUESTION_MESSAGES_MAX = 4000;
/** A scheduled send keeps its reservation open for up to 90 days: asking hourly is enough. */
const CHECK_EVERY_MAX_MS = 3_600_000;

/** Makes one pass over what is due; run it again at once when `checked` equals `SWEEP_BATCH`. */
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
    const unanswered: DueReservation[] = [];
    for (const group of questionsOf(due)) {
      try {
        result = addUp(result, await ask(group));
      } catch (error) {
        result = { ...result, failure: error };
        // Nobody answers now: the others would wait for nothing, and are no nearer to their ends.
        if (isMongoOutage(error)) return result;
        unanswered.push(...group);
      }
    }
    // Where others were answered, these are at fault themselves: the next sweep has to get past them.
    if (unanswered.length > 0 && result.checked > 0) await putOff(unanswered);
    return result;
  };

  async function ask(due: readonly DueReservation[]): Promise<SweepResult> {
    const resolutions = await resolve(due);
    const fenced = new Set(resolutions.flatMap((one) => (one.fenced ? [one.reservationId] : [])));
    const released = await releaseAll(due.filter(({ id }) => fenced.has(id)));
    const settled = await settleAll(resolutions.flatMap(({ settlements }) => settlements));
    await putOff(due);
    return { checked: due.length, ...released, ...settled };
  }

  /** All at once: what is released together shares a transaction. */
  async function releaseAll(orphans: readonly DueReservation[]) {
    const result: { released: number; failure?: unknown } = { released: 0 };
    const release = ({ id, tenantId }: DueReservation) =>
      queue.run(tenantId, { kind: "release", reservationId: id });
    for (const one of await Promise.allSettled(orphans.map(release))) {
      if (one.status === "fulfilled") {
        result.released += 1;
        continue;
      }
      if (isMongoOutage(one.reason)) throw one.reason;
      result.failure = one.reason;
    }
    return result;
  }

  /** Those that are closed by now are left alone by `postpone`. */
  function putOff(due: readonly DueReservation[]): Promise<void> {
    return store.postpone(
      due.map(({ id, checks }) => ({ id, atMs: clock.now() + nextCheckMs(graceMs, checks) })),
    );
  }

  /** What the database refuses of one wallet is told, and keeps no other from its turn. */
  async function settleAll(requests: readonly SettleRequest[]) {
    const result: { settled: number; failure?: unknown } = { settled: 0 };
    for (let from = 0; from < requests.length; from += 1000) {
      const results = await settleMessages(requests.slice(from, from + 1000));
      result.settled += results.filter(({ kind }) => kind === "settled").length;
      for (const one of results) {
        if (one.kind !== "unavailable") continue;
        if (isMongoOutage(one.error)) throw one.error;
        result.failure = one.error;
      }
    }
    return result;
  }
}

/** Divides reservations into questions about a bounded number of messages; one alone may have more. */
export function questionsOf<R extends { readonly messageCount: number }>(
  due: readonly R[],
): readonly (readonly R[])[] {
  const questions: R[][] = [];
  let messages = Number.POSITIVE_INFINITY;
  for (const reservation of due) {
    messages += reservation.messageCount;
    if (messages > QUESTION_MESSAGES_MAX) {
      questions.push([]);
      messages = reservation.messageCount;
    }
    questions.at(-1)?.push(reservation);
  }
  return questions;
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

/** How long until an open reservation is checked again: the grace time, doubled with each check. */
export function nextCheckMs(graceMs: number, checks: number): number {
  const atLeast = Math.max(graceMs, 1000);
  return Math.min(atLeast * 2 ** Math.min(checks, 30), Math.max(CHECK_EVERY_MAX_MS, graceMs));
}
