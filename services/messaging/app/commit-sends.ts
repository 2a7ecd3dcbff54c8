/**
 * A send's hold and its commit. Nothing is committed before its hold stands. What an error in between
 * leaves is a hold without a send, and undone here (`undo-holds.ts`): its caller is told to try again, and may
 * have money for it once. What a crash leaves, the wallet finds and messaging fences off (`resolve.ts`).
 *
 * Sends that arrive together go together, and their documents are written while the wallet places
 * their holds: a send takes as long as the longer of the two, not as both. A refused hold costs that
 * transaction, which is undone and written again without its send; a slow one keeps its whole batch.
 * So an account whose hold was refused or slow a moment ago asks for its holds first, and so does
 * what is much to write (a bulk send). A send without a hold does not wait for those of others: it
 * goes on while the wallet is away.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { type BatcherOptions, createBatcher } from "../../shared/flow/batcher.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import { runDetached } from "../../shared/flow/run-detached.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import { IdempotencyConflict } from "./idempotency.ts";
import {
  type AcceptedSend,
  DuplicateDocument,
  type Hold,
  type HoldResults,
  type SendStore,
  type ServiceClients,
} from "./ports.ts";
import { createHoldReleaser } from "./release-holds.ts";

/** A send that has passed its checks. */
export type CheckedSend = AcceptedSend & {
  /** Undefined when it costs nothing. */
  readonly hold: Hold | undefined;
  /** Whether nobody waits for the answer any more; asked after the hold, just before each commit. */
  readonly isGivenUp: () => boolean;
};

type HeldSend = CheckedSend & { readonly hold: Hold };

/** Makes sends durable. */
export type SendCommitter = {
  /** Throws the hold's refusal, `KeyLost`, or `service_unavailable` when it came too late. */
  commit(send: CheckedSend): Promise<void>;
  close(): Promise<void>;
};

/** What committing needs. */
export type CommitParts = {
  readonly services: Pick<ServiceClients, "placeHold" | "placeHolds" | "releaseReservation">;
  readonly sends: Pick<SendStore, "commit" | "fence">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly acceptQueueMax: number;
};

/**
 * More messages than this, or more text, are a bulk send: a few of them fill a transaction well. A single
 * send at its longest has some kilobytes; a rejected item is kept as given, which may be megabytes.
 */
const SINGLE_MESSAGES_MAX = 32;
const SINGLE_TEXT_MAX = 64 * 1024;

/**
 * A batch waits no longer for its holds. An open transaction keeps others with the same idempotency
 * keys waiting, and the batch other accounts' sends.
 */
const HOLDS_WAIT_MS = 500;

/** Two batches that begin at nearly the same time are one batch that costs twice, unless both are large (ADR 75). */
const BESIDE_MS = { least: 20, most: 60 };
const BESIDE_FROM = 64;

/** What the wallet says of a hold that it was asked for alone. */
const GRANTED: HoldResults = Promise.resolve([undefined]);

/** The wallet takes long: the send leaves its batch and waits for its hold by itself. */
class HoldLate extends Error {}

/** Nobody waits for the answer; the send must not happen behind its caller's back. */
class GivenUp extends Error {}

/** Starts the committer. */
export function createSendCommitter(parts: CommitParts): SendCommitter {
  const { services, sends, clock } = parts;
  const doubts = createDoubts(clock);
  const releaser = createHoldReleaser(parts);
  /** Where the wallet's answer about a hold is, for as long as its send lives. */
  const answers = new WeakMap<Hold, { readonly refusals: HoldResults; readonly at: number }>();
  const together = batch<HeldSend>(
    {
      name: "single sends",
      batchMax: 256,
      concurrency: 3,
      minIntervalMs: BESIDE_MS.least,
      maxIntervalMs: BESIDE_MS.most,
      flushesWhenIdle: true,
      fullAt: BESIDE_FROM,
    },
    (items) => sends.commit(items, placeAll(items), clock.now()),
  );
  const singles = batch<CheckedSend>(
    { name: "held sends", batchMax: 512, concurrency: 3 },
    commitHeld,
  );
  const bulks = batch<CheckedSend>({ name: "bulk sends", batchMax: 4, concurrency: 2 }, commitHeld);

  function batch<S extends CheckedSend>(
    shape: Omit<BatcherOptions<S, undefined>, "queueMax" | "isTransient" | "flush">,
    commitItems: (items: readonly S[]) => Promise<(Error | undefined)[]>,
  ) {
    return createBatcher<S, undefined>({
      ...shape,
      queueMax: parts.acceptQueueMax,
      isTransient: isMongoOutage,
      flush: (items) => runDetached(() => commitItems(items)),
    });
  }

  /** Places the holds at once, whatever is asked and when. */
  function placeAll(items: readonly HeldSend[]): () => HoldResults {
    const placed = placeWithin(items);
    return async () => {
      const refusals = await placed;
      return items.map((item, at) => refusals[at] ?? givenUp(item));
    };
  }

  async function placeWithin(items: readonly HeldSend[]): HoldResults {
    const placing = services.placeHolds(items.map(({ hold }) => hold));
    for (const [at, { hold }] of items.entries()) answers.set(hold, { refusals: placing, at });
    const refusals = await answerWithin(placing, HOLDS_WAIT_MS);
    return items.map(({ hold }, at) => {
      const refusal = refusals === undefined ? new HoldLate() : refusals[at];
      if (refusal !== undefined) doubts.note(hold.tenantId);
      return refusal;
    });
  }

  /** Commits what has its holds. What was given up while it waited for its turn costs no writing. */
  async function commitHeld(items: readonly CheckedSend[]): Promise<(Error | undefined)[]> {
    const late = items.map(givenUp);
    const wanted = items.filter((_, at) => late[at] === undefined);
    if (wanted.length === 0) return late;
    const judge = async () => wanted.map(givenUp);
    const outcomes = (await sends.commit(wanted, judge, clock.now())).values();
    return late.map((error) => error ?? outcomes.next().value);
  }

  async function commitTogether(send: HeldSend): Promise<void> {
    try {
      await together.add(send);
    } catch (error) {
      if (!(error instanceof HoldLate)) throw error;
      // Under the same id: the hold that is being placed and this one cannot both stand.
      await commitAfterHold(send);
    }
  }

  async function commitAfterHold(send: CheckedSend): Promise<void> {
    const { hold } = send;
    if (hold !== undefined) {
      await services.placeHold(hold).catch((refusal: unknown) => {
        doubts.note(hold.tenantId);
        throw refusal;
      });
      answers.set(hold, { refusals: GRANTED, at: 0 });
    }
    await (isBulk(send) ? bulks : singles).add(send);
  }

  /** Frees the hold of a send that failed, if it stands: its caller will try again, with another. */
  async function undoWhatStands(hold: Hold | undefined): Promise<void> {
    const answer = hold === undefined ? undefined : answers.get(hold);
    if (hold === undefined || answer === undefined) return;
    const refusals = await answer.refusals.catch(() => undefined);
    if (refusals !== undefined && refusals[answer.at] === undefined) releaser.releaseLater(hold);
  }

  return {
    async commit(send) {
      try {
        await (mayGoTogether(send, doubts) ? commitTogether(send) : commitAfterHold(send));
      } catch (error) {
        const isDuplicate = error instanceof DuplicateDocument;
        if (!(isDuplicate || error instanceof GivenUp)) {
          void undoWhatStands(send.hold);
          throw error;
        }
        if (send.hold !== undefined) await releaser.release(send.hold);
        throw isDuplicate && send.record.key !== undefined
          ? new IdempotencyConflict()
          : tooLate(error);
      }
    },
    async close() {
      releaser.close();
      await together.close();
      await Promise.all([singles.close(), bulks.close()]);
    },
  };
}

function mayGoTogether(send: CheckedSend, doubts: Doubts): send is HeldSend {
  const { hold } = send;
  if (hold === undefined || isBulk(send)) return false;
  return !doubts.has(hold.tenantId);
}

function isBulk({ messages }: CheckedSend): boolean {
  if (messages.length > SINGLE_MESSAGES_MAX) return true;
  let text = 0;
  for (const { to, body } of messages) text += to.length + body.length;
  return text > SINGLE_TEXT_MAX;
}

function givenUp({ isGivenUp }: CheckedSend): GivenUp | undefined {
  return isGivenUp() ? new GivenUp() : undefined;
}

function tooLate(cause: Error): AppError {
  return new AppError("service_unavailable", "The send took too long; try again shortly.", {
    cause,
  });
}

/** The accounts whose hold was refused, or slow, a moment ago. */
type Doubts = { note(tenantId: string): void; has(tenantId: string): boolean };

const DOUBT_MS = 5000;
const DOUBTS_MAX = 10_000;

function createDoubts(clock: Clock): Doubts {
  const endsMs = new Map<string, number>();
  return {
    note: (tenantId) => setRecent(endsMs, tenantId, clock.now() + DOUBT_MS, DOUBTS_MAX),
    has: (tenantId) => (endsMs.get(tenantId) ?? 0) > clock.now(),
  };
}
