/**
 * A send's hold and its commit. No send is committed before its hold succeeds.
 *
 * - An error between the two leaves a hold without a send. This process releases it (`release-holds.ts`), because
 *   the caller will try again and may have money for one send only.
 * - After a crash the wallet finds the open hold and asks `resolve-reservations.ts`.
 *
 * Single sends of one moment share a transaction, which is written while the wallet places their holds (ADR 71).
 * A refused hold costs that transaction: it is rolled back and written again without the refused send. A slow hold
 * delays the whole batch. Therefore a tenant with a recent hold failure, and a bulk send, place the hold first. A
 * send without a hold never waits for the holds of others, so it works while the wallet is down.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { type BatcherOptions, createBatcher } from "../../shared/flow/batcher.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import { keyInUse } from "./idempotency.ts";
import type {
  AcceptedSend,
  Hold,
  HoldResults,
  Refusal,
  SendStore,
  ServiceClients,
} from "./ports.ts";
import { createHoldReleaser } from "./release-holds.ts";

/** A send that has passed its checks. */
export type CheckedSend = AcceptedSend & {
  /** The send's hold; undefined when the send costs nothing. */
  readonly hold: Hold | undefined;
  /** Whether the caller has stopped waiting; called after the hold, just before each commit. */
  readonly isGivenUp: () => boolean;
};

type HeldSend = CheckedSend & { readonly hold: Hold };

/** Why a send was not committed, apart from errors. */
type Shortfall = Exclude<Refusal, Error>;

/** Commits sends. */
export type SendCommitter = {
  /**
   * Throws the hold's error, `conflict` when another request holds the key, or `service_unavailable` when the
   * caller has given up.
   */
  commit(send: CheckedSend): Promise<void>;
  close(): Promise<void>;
};

/** The dependencies of a commit. */
export type CommitParts = {
  readonly services: Pick<ServiceClients, "placeHold" | "placeHolds" | "releaseReservation">;
  readonly sends: Pick<SendStore, "commit" | "putTombstone">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly acceptQueueMax: number;
  /** How long a batch waits for its holds; `HOLDS_WAIT_MS` unless set. */
  readonly holdsWaitMs?: number;
};

/**
 * A send with more messages or more text than this is a bulk send: a few of them fill a transaction. A single
 * send has at most some kilobytes; a rejected batch item is stored as given, which can be megabytes.
 */
const SINGLE_MESSAGES_MAX = 32;
const SINGLE_TEXT_MAX = 64 * 1024;

/**
 * A batch waits this long for its holds. Its open transaction blocks requests with the same idempotency keys,
 * and the sends of other tenants in the batch.
 */
const HOLDS_WAIT_MS = 500;

/** Two batches that start almost together cost twice as much as one, unless both are large (ADR 75). */
const BATCH_INTERVAL_MS = { min: 20, max: 60 };
const BATCH_FULL_AT = 64;

/** The result of a hold that was placed alone. */
const PLACED: HoldResults = Promise.resolve([undefined]);

/** Creates the committer and its batchers. */
export function createSendCommitter(parts: CommitParts): SendCommitter {
  const { services, sends, clock, holdsWaitMs = HOLDS_WAIT_MS } = parts;
  const holdFailures = createRecentHoldFailures(clock);
  const releaser = createHoldReleaser(parts);
  /** The wallet's result of each hold: a batch of results and the position in it. */
  const holdResults = new WeakMap<Hold, { readonly results: HoldResults; readonly at: number }>();
  const together = batch<HeldSend>(
    {
      name: "single sends",
      batchMax: 256,
      concurrency: 3,
      minIntervalMs: BATCH_INTERVAL_MS.min,
      maxIntervalMs: BATCH_INTERVAL_MS.max,
      flushesWhenIdle: true,
      fullAt: BATCH_FULL_AT,
    },
    (items) => sends.commit(items, placeAll(items), clock.now()),
  );
  const singles = batch<CheckedSend>(
    { name: "held sends", batchMax: 512, concurrency: 3 },
    commitHeld,
  );
  const bulks = batch<CheckedSend>({ name: "bulk sends", batchMax: 4, concurrency: 2 }, commitHeld);

  function batch<S extends CheckedSend>(
    shape: Omit<BatcherOptions<S, Shortfall | undefined>, "queueMax" | "isTransient" | "flush">,
    commitItems: (items: readonly S[]) => Promise<(Refusal | undefined)[]>,
  ) {
    return createBatcher<S, Shortfall | undefined>({
      ...shape,
      queueMax: parts.acceptQueueMax,
      isTransient: isUnavailable,
      flush: commitItems,
    });
  }

  /** Starts placing the holds; the result admits each send whose hold was placed and whose caller waits. */
  function placeAll(items: readonly HeldSend[]): () => Promise<readonly (Refusal | undefined)[]> {
    const placed = placeWithinLimit(items);
    return async () => {
      const refusals = await placed;
      return items.map((item, at) => refusals[at] ?? givenUp(item));
    };
  }

  async function placeWithinLimit(
    items: readonly HeldSend[],
  ): Promise<readonly (Error | "hold_late" | undefined)[]> {
    const results = services.placeHolds(items.map(({ hold }) => hold));
    for (const [at, { hold }] of items.entries()) holdResults.set(hold, { results, at });
    const refusals = await answerWithin(results, holdsWaitMs);
    return items.map(({ hold }, at) => {
      const refusal = refusals === undefined ? "hold_late" : refusals[at];
      if (refusal !== undefined) holdFailures.add(hold.tenantId);
      return refusal;
    });
  }

  /** Commits sends whose holds are placed. Skips those whose callers gave up while they were queued. */
  async function commitHeld(items: readonly CheckedSend[]): Promise<(Refusal | undefined)[]> {
    const late = items.map(givenUp);
    const wanted = items.filter((_, at) => late[at] === undefined);
    if (wanted.length === 0) return late;
    const admit = async () => wanted.map(givenUp);
    const results = (await sends.commit(wanted, admit, clock.now())).values();
    return late.map((refusal) => refusal ?? results.next().value);
  }

  async function commitAfterHold(send: CheckedSend): Promise<Shortfall | undefined> {
    const { hold } = send;
    if (hold !== undefined) {
      await services.placeHold(hold).catch((refusal: unknown) => {
        holdFailures.add(hold.tenantId);
        throw refusal;
      });
      holdResults.set(hold, { results: PLACED, at: 0 });
    }
    return (isBulk(send) ? bulks : singles).add(send);
  }

  /** Releases the hold of a failed send if the wallet placed it: the caller will try again with another. */
  async function releaseIfPlaced(hold: Hold | undefined): Promise<void> {
    const placing = hold === undefined ? undefined : holdResults.get(hold);
    if (hold === undefined || placing === undefined) return;
    const results = await placing.results.catch(() => undefined);
    if (results !== undefined && results[placing.at] === undefined) releaser.releaseLater(hold);
  }

  return {
    async commit(send) {
      const { hold, record } = send;
      let refusal: Shortfall | undefined;
      try {
        refusal = mayGoTogether(send, holdFailures) ? await together.add(send) : "hold_late";
        // After a late answer, place the hold again: under the same id the wallet holds the amount only once.
        if (refusal === "hold_late") refusal = await commitAfterHold(send);
      } catch (error) {
        void releaseIfPlaced(hold);
        throw error;
      }
      if (refusal === undefined) return;
      if (hold !== undefined) await releaser.release(hold);
      throw refusal === "duplicate" && record.key !== undefined ? keyInUse() : tooLate(refusal);
    },
    async close() {
      releaser.close();
      await together.close();
      await Promise.all([singles.close(), bulks.close()]);
    },
  };
}

function mayGoTogether(send: CheckedSend, holdFailures: RecentHoldFailures): send is HeldSend {
  const { hold } = send;
  if (hold === undefined || isBulk(send)) return false;
  return !holdFailures.has(hold.tenantId);
}

function isBulk({ messages }: CheckedSend): boolean {
  if (messages.length > SINGLE_MESSAGES_MAX) return true;
  let text = 0;
  for (const { to, body } of messages) text += to.length + body.length;
  return text > SINGLE_TEXT_MAX;
}

function givenUp({ isGivenUp }: CheckedSend): "given_up" | undefined {
  return isGivenUp() ? "given_up" : undefined;
}

function tooLate(cause: Shortfall): AppError {
  return new AppError("service_unavailable", "The send took too long; try again shortly.", {
    cause,
  });
}

/** Tenants whose hold was refused or slow in the last seconds. */
type RecentHoldFailures = { add(tenantId: string): void; has(tenantId: string): boolean };

const HOLD_FAILURE_MS = 5000;
const HOLD_FAILURES_MAX = 10_000;

function createRecentHoldFailures(clock: Clock): RecentHoldFailures {
  const endsMs = new Map<string, number>();
  return {
    add: (tenantId) =>
      setRecent(endsMs, tenantId, clock.now() + HOLD_FAILURE_MS, HOLD_FAILURES_MAX),
    has: (tenantId) => (endsMs.get(tenantId) ?? 0) > clock.now(),
  };
}
