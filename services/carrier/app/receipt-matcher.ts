/**
 * Matches receipts to messages. The link acknowledges a receipt to the carrier when `take` resolves, and not when
 * it rejects, so that the carrier sends the receipt again.
 *
 * - The carrier's id finds the message, in memory or in the store: messaging records the receipt.
 * - It finds none, or messaging is unavailable or rejects the receipt: the receipt is parked durably and retried.
 *
 * A parked receipt is matched by the carrier's id when its submission is stored. After `partiesAfterMs`, when each
 * submit of that time is answered or in doubt, it is matched by recipient and sender, if exactly one message in
 * doubt fits. After `giveUpAfterMs` it becomes unmatched; operators can list it until three days after it came. A
 * receipt that messaging rejects stays parked for a day, because a newer version of messaging may take it, and
 * then becomes unmatched.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { type Batcher, createBatcher } from "../../shared/flow/batcher.ts";
import { isolateFailingItems } from "../../shared/flow/isolate-failing-items.ts";
import type { IncomingReceipt, MatchedReceipt } from "../domain/message.ts";
import {
  matchByParties,
  type Submission,
  submissionName,
  type UnknownSubmission,
} from "../domain/submission.ts";
import type { MessagingClient, ParkedReceipt, SubmissionStore } from "./ports.ts";
import type { RecentSubmissions } from "./recent-submissions.ts";

export type ReceiptMatcher = {
  /** Resolves when the receipt is durable: recorded or parked. Rejects when it is neither. */
  take(receipt: IncomingReceipt): Promise<void>;
  /** Matches parked receipts to submissions that have just been stored. */
  onStored(submissions: readonly Submission[]): void;
  /** Retries parked receipts that are due; returns whether more are due. */
  sweep(): Promise<boolean>;
  close(): Promise<void>;
};

export type ReceiptMatcherOptions = {
  readonly store: SubmissionStore;
  readonly messaging: Pick<MessagingClient, "recordReceipts">;
  readonly recent: RecentSubmissions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onRecorded: (receipt: MatchedReceipt, submission: Submission, cameAtMs: number) => void;
  readonly onParked: (receipt: IncomingReceipt) => void;
  /** How long a receipt waits before it may be matched by recipient and sender. */
  readonly partiesAfterMs: (connectorId: string) => number;
  readonly giveUpAfterMs: number;
  /** How long messaging keeps a message in doubt before it fails it (`SUBMISSION_UNKNOWN_WAIT_MS`). */
  readonly inDoubtMaxMs: number;
};

type Known = { readonly matched: MatchedReceipt; readonly submission: Submission };
/** Receipts whose submission is known. */
type Found = Map<IncomingReceipt, Known>;

const BATCH_MAX = 500;
const SWEEP_MAX = 500;
const REJECTED_GIVE_UP_MS = 24 * 3_600_000;
/** After this many rejections in a batch the fault is not in single receipts: the others wait as well. */
const REJECTIONS_MAX = 32;
/** How long a receipt waits for the report of its own submit's outcome. */
const OUTCOME_WAIT_MS = 5000;
/** How often a receipt retries after another receipt has taken its submit. */
const ASSIGNS_MAX = 5;
/** The age up to which a receipt matches a submit that was accepted without an id. */
const TAKEN_AGE_MS = 24 * 3_600_000;
/** Messaging may learn this much later that a message is in doubt. */
const IN_DOUBT_GRACE_MS = 300_000;
/** For this long the receipt of a failed message may still come, and could be mistaken for another one's. */
const FAILED_RECEIPT_MS = 3_600_000;

export function createReceiptMatcher(options: ReceiptMatcherOptions): ReceiptMatcher {
  const { store, recent, clock, log } = options;
  /** Names of receipts that this process has parked: only these need a read when submissions are stored. */
  const parkedNames = new Set<string>();

  const batcher: Batcher<IncomingReceipt, void> = createBatcher<IncomingReceipt, void>({
    name: "receipts",
    batchMax: BATCH_MAX,
    queueMax: 20_000,
    concurrency: 3,
    isTransient: () => true,
    async flush(receipts) {
      const { recorded } = await record(await match(receipts));
      await park(receipts.filter((receipt) => !recorded.has(receipt)));
      return receipts.map(() => undefined);
    },
  });

  async function park(receipts: readonly IncomingReceipt[]): Promise<void> {
    if (receipts.length === 0) return;
    await store.park(receipts, clock.now(), options.partiesAfterMs);
    for (const receipt of receipts) {
      for (const name of namesOf(receipt)) parkedNames.add(name);
      options.onParked(receipt);
    }
    // The sweep matches receipts that are dropped here, or whose submission was stored just before they were parked.
    if (parkedNames.size > 100_000) parkedNames.clear();
  }

  async function match(receipts: readonly IncomingReceipt[]): Promise<Found> {
    const found: Found = new Map();
    const unseen = receipts.filter((receipt) => findKnown(receipt) === undefined);
    const stored = await store.findSubmissions(unseen.flatMap(namesOf));
    const find = (name: string) => recent.find(name)?.submission ?? stored.get(name);
    for (const receipt of receipts) {
      const submission = findKnown(receipt) ?? pickSubmission(receipt, namesOf(receipt).map(find));
      if (submission === undefined) continue;
      found.set(receipt, { matched: toMatched(receipt, submission), submission });
    }
    return found;
  }

  /** The submission without a read: it is recent, or the receipt URL names its message. */
  function findKnown(receipt: IncomingReceipt): Submission | undefined {
    const { connectorId, messageId, to, from } = receipt;
    if (messageId !== "") return { connectorId, key: "", messageId, segment: 0, to, from, atMs: 0 };
    const [name, ...others] = namesOf(receipt);
    const submission = name === undefined ? undefined : recent.find(name)?.submission;
    if (submission === undefined || submission.to === to) return submission;
    return others.length === 0 && isTrusted(receipt, submission) ? submission : undefined;
  }

  /**
   * Records receipts in messaging and splits a batch that it rejects, so that one receipt blocks no other. Returns
   * the recorded ones, and whether messaging became unavailable.
   */
  async function record(found: Found, parkedAtMs?: ReadonlyMap<IncomingReceipt, number>) {
    const recorded = new Set<IncomingReceipt>();
    let isMessagingAway = false;
    let rejections = 0;

    async function send(batch: readonly (readonly [IncomingReceipt, Known])[]): Promise<void> {
      if (batch.length === 0 || isMessagingAway || rejections >= REJECTIONS_MAX) return;
      const unknown = await options.messaging.recordReceipts(batch.map(([, one]) => one.matched));
      if (unknown.length > 0) log.warn({ count: unknown.length }, "receipts for unknown messages");
      for (const [receipt, { matched, submission }] of batch) {
        recorded.add(receipt);
        options.onRecorded(matched, submission, parkedAtMs?.get(receipt) ?? clock.now());
      }
    }

    await isolateFailingItems([...found], {
      run: send,
      canSplit: (error) => !isUnavailable(error),
      onFailure(batch, error) {
        isMessagingAway = isUnavailable(error);
        if (isMessagingAway) {
          log.warn({ error, receipts: batch.length }, "receipts wait: messaging is unavailable");
          return;
        }
        rejections += 1;
        const message = batch[0]?.[1].matched.messageId;
        log.error({ error, message }, "a receipt was rejected; it waits");
      },
    });
    return { recorded, isMessagingAway };
  }

  async function retryParked(parked: readonly ParkedReceipt[]): Promise<void> {
    const found = await match(parked.map(({ receipt }) => receipt));
    const nowMs = clock.now();
    /** Submits without a carrier id that these receipts end: no later receipt may match them. */
    const used = new Map<IncomingReceipt, Submission>();
    for (const { receipt, parkedAtMs } of parked) {
      if (found.has(receipt)) continue;
      if (nowMs - parkedAtMs < options.partiesAfterMs(receipt.connectorId)) continue;
      const submission = await matchInDoubt(receipt, parkedAtMs, [...used.values()]);
      if (submission === undefined) continue;
      // After an interim receipt another one follows, which must match the same submit.
      if (submission.key === "" && receipt.verdict !== "acknowledged") {
        used.set(receipt, submission);
      }
      found.set(receipt, { matched: toMatched(receipt, submission), submission });
    }
    const cameAtMs = new Map(parked.map((one) => [one.receipt, one.parkedAtMs]));
    const { recorded, isMessagingAway } = await record(found, cameAtMs);
    await store.removeParked(
      parked.filter(({ receipt }) => recorded.has(receipt)).map(({ id }) => id),
    );
    // Last: otherwise a receipt that is retried after a crash would match the next message to this number.
    await store.removeUnknowns([...used].flatMap(([one, it]) => (recorded.has(one) ? it : [])));
    if (isMessagingAway) return;
    const tooOld = parked.filter(({ receipt, parkedAtMs }) => {
      if (recorded.has(receipt)) return false;
      const giveUpAfterMs = found.has(receipt) ? REJECTED_GIVE_UP_MS : options.giveUpAfterMs;
      return nowMs - parkedAtMs >= giveUpAfterMs;
    });
    await store.giveUpParked(tooOld);
    const count = tooOld.length;
    if (count > 0) log.warn({ count }, "receipts became unmatched");
  }

  /**
   * Finds the one submit in doubt with the receipt's recipient and sender, and assigns the carrier id to it. Two
   * processes may match the same receipt at once: the store assigns the id once. A message that had failed when
   * the receipt came can take no receipt, and after a while no longer makes a match ambiguous.
   */
  async function matchInDoubt(
    receipt: IncomingReceipt,
    cameAtMs: number,
    used: readonly Submission[],
  ): Promise<Submission | undefined> {
    const { connectorId, to, from } = receipt;
    if (to === "") return undefined;
    const failedBeforeMs = cameAtMs - options.inDoubtMaxMs - IN_DOUBT_GRACE_MS;
    const inDoubtSinceMs = Math.min(failedBeforeMs, cameAtMs - FAILED_RECEIPT_MS);
    const takenSinceMs = clock.now() - TAKEN_AGE_MS;
    const query = { connectorId, to, from, inDoubtSinceMs, takenSinceMs };
    const key = receipt.keys[0] ?? "";
    for (let attempt = 0; attempt < ASSIGNS_MAX; attempt += 1) {
      const unknowns = await store.findUnknowns(query);
      const open = unknowns.filter((unknown) => !used.some((one) => isSameSubmit(one, unknown)));
      const unknown = matchByParties(open, key);
      if (unknown === undefined) return undefined;
      const { assignedKey, isTaken, ...rest } = unknown;
      if (!isTaken && assignedKey === undefined && rest.atMs < failedBeforeMs) return undefined;
      const submission: Submission = { ...rest, key, isSegmentGuessed: true };
      if (key === "") return submission;
      if (assignedKey === undefined && !(await store.assignKey(unknown, key))) continue;
      await store.saveSubmissions([submission]);
      return submission;
    }
    return undefined;
  }

  return {
    async take(receipt) {
      const name = namesOf(receipt)[0];
      const reported = name === undefined ? undefined : recent.find(name)?.reported;
      if (reported !== undefined) await answerWithin(reported, OUTCOME_WAIT_MS);
      await batcher.add(receipt);
    },
    onStored(submissions) {
      if (parkedNames.size === 0) return;
      const names = submissions
        .map(({ connectorId, key }) => submissionName(connectorId, key))
        .filter((name) => parkedNames.delete(name));
      if (names.length === 0) return;
      void store
        .findParked(names)
        .then(retryParked)
        .catch((error: unknown) => log.warn({ error }, "parked receipts wait for the sweep"));
    },
    async sweep() {
      const due = await store.takeDueParked(clock.now(), SWEEP_MAX);
      if (due.length > 0) await retryParked(due);
      return due.length === SWEEP_MAX;
    },
    close: () => batcher.close(),
  };
}

function isSameSubmit(one: UnknownSubmission, other: UnknownSubmission): boolean {
  return one.messageId === other.messageId && one.segment === other.segment;
}

function namesOf(receipt: IncomingReceipt): string[] {
  return receipt.keys.map((key) => submissionName(receipt.connectorId, key));
}

/**
 * Picks from the submissions of the receipt's keys: the first with the receipt's recipient. Some carriers write
 * recipients in another notation, so the likeliest key matches without it. The other keys do not: an id in another
 * notation may by chance belong to another message.
 */
function pickSubmission(
  receipt: IncomingReceipt,
  candidates: readonly (Submission | undefined)[],
): Submission | undefined {
  const own = candidates.find((submission) => submission?.to === receipt.to);
  if (own !== undefined) return own;
  return candidates.find((submission, at) => {
    if (submission === undefined || !isTrusted(receipt, submission)) return false;
    return at === 0 || receipt.to === "";
  });
}

/** A handset can write the text of a receipt, but can send it only from its own number. */
function isTrusted(receipt: IncomingReceipt, submission: Submission): boolean {
  return receipt.isUnmarked !== true || submission.to === receipt.to;
}

function toMatched(receipt: IncomingReceipt, submission: Submission): MatchedReceipt {
  return {
    messageId: submission.messageId,
    connectorId: receipt.messageId === "" ? "" : receipt.connectorId,
    segment: submission.segment,
    parts: submission.parts ?? 0,
    isSegmentGuessed: submission.isSegmentGuessed === true,
    // Receipts for the whole message need no key to tell parts apart.
    partKey: submission.segment === 0 ? "" : (namesOf(receipt)[0] ?? ""),
    verdict: receipt.verdict,
    errorCode: receipt.errorCode,
    carrierCode: receipt.carrierCode,
    occurredAtMs: receipt.occurredAtMs,
  };
}
