/**
 * Matches receipts to messages. The link acknowledges a receipt to the carrier when `take` resolves, and not when
 * it rejects, so that the carrier sends the receipt again.
 *
 * - The carrier's id and the number find the message, in memory or in the store: messaging records the receipt.
 * - They find no message, or messaging is unavailable or rejects the receipt: it is parked durably and retried.
 *
 * A parked receipt is matched by the carrier's id when its submission is stored. After `partiesAfterMs`, when each
 * submit of that time is answered or in doubt, it is matched by recipient and sender, if exactly one message in
 * doubt fits. After `giveUpAfterMs` it becomes unmatched; operators can list it until three days after it came. A
 * receipt that messaging rejects stays parked for a day, because a newer version of messaging may take it, and
 * then becomes unmatched.
 *
 * A carrier may give all parts of a message one id. Each receipt then counts for the next part. Some carriers send
 * one receipt for all parts: after a delivery this process parks a receipt of its own, which `REST_AFTER_MS` later
 * counts the remaining parts as delivered (ADR 113). A process that dies before it has parked this receipt has not
 * acknowledged the carrier's receipt, and the carrier sends that one again.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { type Batcher, createBatcher } from "../../shared/flow/batcher.ts";
import { isolateFailingItems } from "../../shared/flow/isolate-failing-items.ts";
import {
  type Candidate,
  CLOCK_GRACE_MS,
  chooseSubmissions,
  fitOf,
} from "../domain/choose-submission.ts";
import type { IncomingReceipt, MatchedReceipt } from "../domain/message.ts";
import {
  isSameSubmit,
  matchByParties,
  type Submission,
  submissionName,
} from "../domain/submission.ts";
import type { MessagingClient, ParkedReceipt, SubmissionStore } from "./ports.ts";
import { type RecentSubmissions, toCandidate } from "./recent-submissions.ts";

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
  /** Called for a receipt whose id is known and whose number belongs to no submission with that id. */
  readonly onContradicted: (receipt: IncomingReceipt) => void;
  /** How long a receipt waits before it may be matched by recipient and sender. */
  readonly partiesAfterMs: (connectorId: string) => number;
  readonly giveUpAfterMs: number;
  /** How long messaging keeps a message in doubt before it fails it (`SUBMISSION_UNKNOWN_WAIT_MS`). */
  readonly inDoubtMaxMs: number;
};

type Known = {
  readonly matched: MatchedReceipt;
  /** The submission of the receipt; several when the carrier gave all parts of the message one id. */
  readonly submissions: readonly [Submission, ...Submission[]];
};
/** Receipts whose submission is known. */
type Found = Map<IncomingReceipt, Known>;

const BATCH_MAX = 500;
const SWEEP_MAX = 500;
/** The wait before a delivered part counts for the other parts: receipts of single parts come within some seconds. */
const REST_AFTER_MS = 5000;
const REJECTED_GIVE_UP_MS = 24 * 3_600_000;
/** After this many rejections in a batch the fault is not in single receipts: the others wait as well. */
const REJECTIONS_MAX = 32;
/** How long a receipt waits for the report of its own submit's outcome. */
const OUTCOME_WAIT_MS = 5000;
/** Attempts to assign a submit to a receipt; an attempt fails when another receipt has just taken the submit. */
const ASSIGNS_MAX = 5;
/** The age up to which a receipt matches a submit that was accepted without an id. */
const TAKEN_AGE_MS = 24 * 3_600_000;
/** The maximum time from a submit in doubt here until its message is in doubt at messaging too. */
const IN_DOUBT_GRACE_MS = 300_000;
/** For this long a failed message's own receipt may still come, and could be matched to another message. */
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
      const found = await match(receipts);
      const { recorded } = await record(found);
      await park(receipts.filter((receipt) => !recorded.has(receipt)));
      await parkRests(found, recorded);
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

  async function parkRests(found: Found, recorded: ReadonlySet<IncomingReceipt>): Promise<void> {
    const rests = [...found].flatMap(([receipt, known]) =>
      recorded.has(receipt) ? restOf(receipt, known, recent) : [],
    );
    await store.park(rests, clock.now(), options.partiesAfterMs, REST_AFTER_MS);
  }

  /** `cameAtMs` has the times of parked receipts. */
  async function match(
    receipts: readonly IncomingReceipt[],
    cameAtMs?: ReadonlyMap<IncomingReceipt, number>,
  ): Promise<Found> {
    const found: Found = new Map();
    const atMs = (receipt: IncomingReceipt) => cameAtMs?.get(receipt) ?? clock.now();
    const set = (receipt: IncomingReceipt, [first, ...others]: readonly Submission[]) => {
      if (first === undefined) return;
      const submissions = [first, ...others] as const;
      found.set(receipt, { matched: toMatched(receipt, submissions), submissions });
    };
    for (const receipt of receipts) set(receipt, findKnown(receipt, atMs(receipt)));
    const unseen = receipts.filter((receipt) => !found.has(receipt));
    const stored = await store.findSubmissions(unseen.flatMap(namesOf));
    for (const receipt of unseen) {
      const candidates = namesOf(receipt).map((name) => candidatesOf(name, stored.get(name) ?? []));
      set(receipt, chooseSubmissions(receipt, candidates, atMs(receipt)));
      const isContradicted = !found.has(receipt) && candidates.flat().length > 0;
      if (isContradicted && cameAtMs === undefined) options.onContradicted(receipt);
    }
    return found;
  }

  /** The submissions without a read: they are recent, or the receipt names its message. */
  function findKnown(receipt: IncomingReceipt, cameAtMs: number): readonly Submission[] {
    const { connectorId, messageId, to, from } = receipt;
    if (messageId !== "")
      return [{ connectorId, key: "", messageId, segment: 0, to, from, atMs: 0 }];
    const [name] = namesOf(receipt);
    const known = name === undefined ? [] : recent.find(name);
    const [first, second] = known;
    // Nearly every receipt: one open submission has its id and its number.
    if (first?.submission.to === to && second === undefined && !first.isEnded) {
      return [first.submission];
    }
    const own = known.map(toCandidate).filter(({ submission }) => isOwn(receipt, submission));
    // When all these submissions had their receipt, an older submission with this id may be meant.
    if (!own.some(({ isOpen }) => isOpen)) return [];
    return chooseSubmissions(receipt, [own], cameAtMs);
  }

  function candidatesOf(name: string, stored: readonly Submission[]): Candidate[] {
    const known = recent.find(name);
    const unknown = stored.filter((one) => !known.some((it) => isSameSubmit(it.submission, one)));
    const older = unknown.map((submission) => ({ submission, isOpen: false }));
    return [...older, ...known.map(toCandidate)];
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
      for (const [receipt, { matched, submissions }] of batch) {
        recorded.add(receipt);
        if (receipt.verdict !== "acknowledged") recent.end(submissions);
        if (receipt.restOfParts !== undefined) continue;
        options.onRecorded(matched, submissions[0], parkedAtMs?.get(receipt) ?? clock.now());
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
    const cameAtMs = new Map(parked.map((one) => [one.receipt, one.parkedAtMs]));
    const found = await match([...cameAtMs.keys()], cameAtMs);
    const nowMs = clock.now();
    /** Submits without a carrier id that these receipts end: no later receipt may match them. */
    const used = new Map<IncomingReceipt, Submission>();
    for (const { receipt, parkedAtMs } of parked) {
      if (found.has(receipt)) continue;
      if (nowMs - parkedAtMs < options.partiesAfterMs(receipt.connectorId)) continue;
      const submission = await matchInDoubt(receipt, parkedAtMs, [...used.values()]);
      if (submission === undefined) continue;
      // An interim receipt does not use up its submit: another receipt follows, which must match the same submit.
      if (submission.key === "" && receipt.verdict !== "acknowledged") {
        used.set(receipt, submission);
      }
      found.set(receipt, { matched: toMatched(receipt, [submission]), submissions: [submission] });
    }
    const { recorded, isMessagingAway } = await record(found, cameAtMs);
    await parkRests(found, recorded);
    await store.removeParked(
      parked.filter(({ receipt }) => recorded.has(receipt)).map(({ id }) => id),
    );
    // Remove the used submits last: after a crash a retried receipt would else match the next message to its number.
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
   * the receipt came can take no receipt, and after a while no longer makes a match ambiguous. A submit that left after
   * the receipt came is not meant: the receipt may belong to another system on the same account.
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
    const submittedUntilMs = cameAtMs + CLOCK_GRACE_MS;
    const query = { connectorId, to, from, inDoubtSinceMs, takenSinceMs, submittedUntilMs };
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
      const [name] = namesOf(receipt);
      const known = name === undefined ? [] : recent.find(name);
      const reports = known.flatMap(({ submission, reported }) =>
        reported !== undefined && fitOf(receipt, submission) !== "other" ? reported : [],
      );
      if (reports.length > 0) await answerWithin(Promise.all(reports), OUTCOME_WAIT_MS);
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

function namesOf(receipt: IncomingReceipt): string[] {
  return receipt.keys.map((key) => submissionName(receipt.connectorId, key));
}

function isOwn(receipt: IncomingReceipt, submission: Submission): boolean {
  const fit = fitOf(receipt, submission);
  return fit === "same" || fit === "likely";
}

/**
 * The receipt that completes a message whose parts all have one id, after the delivery of one part. While some parts
 * have another id, or are not submitted yet, there is none: each part needs a receipt of its own.
 */
function restOf(
  receipt: IncomingReceipt,
  { submissions }: Known,
  recent: RecentSubmissions,
): IncomingReceipt[] {
  const [{ connectorId, key, messageId, parts = 1 }] = submissions;
  if (receipt.verdict !== "delivered" || parts === 1 || submissions.length < parts) return [];
  const known = recent.find(submissionName(connectorId, key));
  const own = known.filter(({ submission }) => submission.messageId === messageId);
  if (own.length >= parts && own.every(({ isEnded }) => isEnded)) return [];
  return [{ ...receipt, keys: [], messageId, restOfParts: parts }];
}

/** Of several submissions with one id, uses the first: messaging counts the receipt for the next part anyway. */
function toMatched(
  receipt: IncomingReceipt,
  [submission, ...others]: readonly [Submission, ...Submission[]],
): MatchedReceipt {
  const isShared = others.length > 0;
  return {
    messageId: submission.messageId,
    connectorId: receipt.messageId === "" ? "" : receipt.connectorId,
    segment: submission.segment,
    parts: receipt.restOfParts ?? submission.parts ?? 0,
    isSegmentGuessed:
      isShared || receipt.restOfParts !== undefined || submission.isSegmentGuessed === true,
    // Receipts for the whole message need no key for each part, and one key for all parts cannot distinguish them.
    partKey: isShared || submission.segment === 0 ? "" : (namesOf(receipt)[0] ?? ""),
    verdict: receipt.verdict,
    errorCode: receipt.errorCode,
    carrierCode: receipt.carrierCode,
    occurredAtMs: receipt.occurredAtMs,
  };
}
