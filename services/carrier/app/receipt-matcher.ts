/**
 * The way of receipts. A receipt is acknowledged to the carrier when `take` has answered:
 *
 * - its message is found by the carrier's id, in memory or in the store → recorded in messaging;
 * - it is not found, or messaging is away or calls it wrong → parked durably, and looked at again.
 *
 * Parked receipts are matched when their submission is stored, by the carrier's id; and after
 * `partiesAfterMs`, when every submit that was under way has been answered or is in doubt, by
 * recipient and sender, if exactly one message in doubt fits. Those that fit nothing for
 * `giveUpAfterMs` go to the unmatched ones, which operators see until three days after they came. What messaging calls
 * wrong stays parked for a day, for another version of it, and then goes there, too.
 */

import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { type Batcher, createBatcher } from "../../shared/flow/batcher.ts";
import type { MessagingPort } from "../adapters/messaging-client.ts";
import { isOutage } from "../adapters/transport-errors.ts";
import type { IncomingReceipt, MatchedReceipt } from "../domain/message.ts";
import {
  matchByParties,
  type Submission,
  submissionName,
  type UnknownSubmission,
} from "../domain/submission.ts";
import type { CarrierStore, ParkedReceipt } from "../store/submissions.ts";
import type { RecentSubmissions } from "./recent-submissions.ts";

/** The keeper of receipts. */
export type ReceiptMatcher = {
  /** Answers when the receipt is durable: recorded, or parked. Throws when it is neither. */
  take(receipt: IncomingReceipt): Promise<void>;
  /** Looks for parked receipts of submissions that have just been stored. */
  onStored(submissions: readonly Submission[]): void;
  /** Looks at parked receipts whose time has come; answers whether more are due. */
  sweep(): Promise<boolean>;
  close(): Promise<void>;
};

/** What the desk needs, and its patience in milliseconds. */
export type ReceiptDeskOptions = {
  readonly store: CarrierStore;
  readonly messaging: Pick<MessagingPort, "recordReceipts">;
  readonly recent: RecentSubmissions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onRecorded: (receipt: MatchedReceipt, submission: Submission, cameAtMs: number) => void;
  readonly onParked: (receipt: IncomingReceipt) => void;
  /** After a receipt has waited so long, its parties may identify it. */
  readonly partiesAfterMs: (connectorId: string) => number;
  readonly giveUpAfterMs: number;
  /** How long messaging waits for proof of a submit in doubt. */
  readonly inDoubtMaxMs: number;
};

type Known = { readonly matched: MatchedReceipt; readonly submission: Submission };
/** Receipts whose submission is known. */
type Found = Map<IncomingReceipt, Known>;

const BATCH_MAX = 500;
const SWEEP_MAX = 500;
const REFUSED_GIVE_UP_MS = 24 * 3_600_000;
/** So many of a batch that are refused one by one are no accident of some: the others wait, too. */
const REFUSALS_MAX = 32;
/** A receipt waits at most so long for its own submit's outcome; then it goes ahead. */
const OUTCOME_WAIT_MS = 5000;
/** How often a receipt may find that another one was quicker. */
const TIES_MAX = 5;
/** How old a submit that was taken without an id may be for a receipt to be its own. */
const TAKEN_AGE_MS = 24 * 3_600_000;
/** Messaging may hear of a doubt so much later than it began. */
const IN_DOUBT_GRACE_MS = 300_000;
/** So long the receipt of a message that has failed may still come, and be taken for that of another one. */
const RIVAL_MS = 3_600_000;

/** Makes the desk. */
export function createReceiptDesk(options: ReceiptDeskOptions): ReceiptMatcher {
  const { store, recent, clock, log } = options;
  /** Names of receipts this process has parked, to spare a read at each stored batch. */
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
    // What is forgotten here, or was stored between the look and the parking, is found by the sweep.
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

  /** The submission when no read is needed: it is recent, or the receipt names its message. */
  function findKnown(receipt: IncomingReceipt): Submission | undefined {
    const { connectorId, messageId, to, from } = receipt;
    if (messageId !== "") return { connectorId, key: "", messageId, segment: 0, to, from, atMs: 0 };
    const [name, ...others] = namesOf(receipt);
    const submission = name === undefined ? undefined : recent.find(name)?.submission;
    if (submission === undefined || submission.to === to) return submission;
    return others.length === 0 && isBelievable(receipt, submission) ? submission : undefined;
  }

  /**
   * Tells messaging. A batch that it calls wrong is told by halves, so that one receipt keeps no other
   * back; answers which it has taken, and whether it could not be asked about all of them.
   */
  async function record(found: Found, parkedAtMs?: ReadonlyMap<IncomingReceipt, number>) {
    const recorded = new Set<IncomingReceipt>();
    let isAway = false;
    let refusals = 0;

    async function tell(told: readonly (readonly [IncomingReceipt, Known])[]): Promise<void> {
      if (told.length === 0) return;
      try {
        const matched = told.map(([, one]) => one.matched);
        const unknown = await options.messaging.recordReceipts(matched);
        const count = unknown.length;
        if (count > 0) log.warn({ count }, "receipts for unknown messages");
      } catch (error) {
        await goOn(told, error);
        return;
      }
      for (const [receipt, { matched, submission }] of told) {
        recorded.add(receipt);
        options.onRecorded(matched, submission, parkedAtMs?.get(receipt) ?? clock.now());
      }
    }

    async function goOn(
      told: readonly (readonly [IncomingReceipt, Known])[],
      error: unknown,
    ): Promise<void> {
      isAway = isOutage(error);
      if (isAway) {
        log.warn({ error, receipts: told.length }, "receipts wait: messaging is away");
      } else if (told.length === 1) {
        refusals += 1;
        const message = told[0]?.[1].matched.messageId;
        log.error({ error, message }, "a receipt was refused; it waits");
      } else {
        const half = Math.ceil(told.length / 2);
        for (const part of [told.slice(0, half), told.slice(half)]) {
          if (!isAway && refusals < REFUSALS_MAX) await tell(part);
        }
      }
    }

    await tell([...found]);
    return { recorded, isAway };
  }

  async function settleParked(parked: readonly ParkedReceipt[]): Promise<void> {
    const found = await match(parked.map(({ receipt }) => receipt));
    const nowMs = clock.now();
    /** Submits without a carrier's id that a receipt ends: they are in nobody's way any more. */
    const used = new Map<IncomingReceipt, Submission>();
    for (const { receipt, parkedAtMs } of parked) {
      if (found.has(receipt)) continue;
      if (nowMs - parkedAtMs < options.partiesAfterMs(receipt.connectorId)) continue;
      const submission = await identify(receipt, parkedAtMs, [...used.values()]);
      if (submission === undefined) continue;
      // An interim receipt is followed by another one, which must find the same submit.
      if (submission.key === "" && receipt.verdict !== "acknowledged")
        used.set(receipt, submission);
      found.set(receipt, { matched: toMatched(receipt, submission), submission });
    }
    const cameAtMs = new Map(parked.map((one) => [one.receipt, one.parkedAtMs]));
    const { recorded, isAway } = await record(found, cameAtMs);
    await store.removeParked(
      parked.filter(({ receipt }) => recorded.has(receipt)).map(({ id }) => id),
    );
    // Last: a receipt that is looked at once more would else take the next message to this number for its own.
    await store.removeUnknowns([...used].flatMap(([one, it]) => (recorded.has(one) ? it : [])));
    if (isAway) return;
    const tooOld = parked.filter(({ receipt, parkedAtMs }) => {
      if (recorded.has(receipt)) return false;
      const patienceMs = found.has(receipt) ? REFUSED_GIVE_UP_MS : options.giveUpAfterMs;
      return nowMs - parkedAtMs >= patienceMs;
    });
    await store.giveUpParked(tooOld);
    const count = tooOld.length;
    if (count > 0) log.warn({ count }, "receipts without a message that takes them");
  }

  /**
   * Finds the one submit in doubt that the receipt's parties fit, and ties its id to it. The same
   * receipt may be looked at twice at once, here or by another process: the tie is made once. A message
   * that had failed when the receipt came can take it no more, and after a while is in no other's way.
   */
  async function identify(
    receipt: IncomingReceipt,
    cameAtMs: number,
    used: readonly Submission[],
  ): Promise<Submission | undefined> {
    const { connectorId, to, from } = receipt;
    if (to === "") return undefined;
    const failedBeforeMs = cameAtMs - options.inDoubtMaxMs - IN_DOUBT_GRACE_MS;
    const inDoubtSinceMs = Math.min(failedBeforeMs, cameAtMs - RIVAL_MS);
    const takenSinceMs = clock.now() - TAKEN_AGE_MS;
    const query = { connectorId, to, from, inDoubtSinceMs, takenSinceMs };
    const key = receipt.keys[0] ?? "";
    for (let attempt = 0; attempt < TIES_MAX; attempt += 1) {
      const unknowns = await store.findUnknowns(query);
      const open = unknowns.filter((unknown) => !used.some((one) => isSameSubmit(one, unknown)));
      const unknown = matchByParties(open, key);
      if (unknown === undefined) return undefined;
      const { tiedTo, isTaken, ...place } = unknown;
      if (!isTaken && tiedTo === undefined && place.atMs < failedBeforeMs) return undefined;
      const submission: Submission = { ...place, key, isSegmentGuessed: true };
      if (key === "") return submission;
      if (tiedTo === undefined && !(await store.tieUnknown(unknown, key))) continue;
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
        .then(settleParked)
        .catch((error: unknown) => log.warn({ error }, "parked receipts are left to the sweep"));
    },
    async sweep() {
      const due = await store.takeDueParked(clock.now(), SWEEP_MAX);
      if (due.length > 0) await settleParked(due);
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
 * The best of the submissions that its ids stand for, in the order of its keys: the first to its own recipient.
 * Some carriers write a recipient in their own way, so the likeliest key is believed without; an id in
 * another notation may by chance be another message's.
 */
function pickSubmission(
  receipt: IncomingReceipt,
  candidates: readonly (Submission | undefined)[],
): Submission | undefined {
  const own = candidates.find((submission) => submission?.to === receipt.to);
  if (own !== undefined) return own;
  return candidates.find((submission, at) => {
    if (submission === undefined || !isBelievable(receipt, submission)) return false;
    return at === 0 || receipt.to === "";
  });
}

/** A handset can write the text of a receipt, but only send it from its own number. */
function isBelievable(receipt: IncomingReceipt, submission: Submission): boolean {
  return receipt.isUnmarked !== true || submission.to === receipt.to;
}

function toMatched(receipt: IncomingReceipt, submission: Submission): MatchedReceipt {
  return {
    messageId: submission.messageId,
    connectorId: receipt.messageId === "" ? "" : receipt.connectorId,
    segment: submission.segment,
    parts: submission.parts ?? 0,
    isSegmentGuessed: submission.isSegmentGuessed === true,
    // A message that is spoken of as a whole has no other part to be told apart from.
    partKey: submission.segment === 0 ? "" : (namesOf(receipt)[0] ?? ""),
    verdict: receipt.verdict,
    errorCode: receipt.errorCode,
    carrierCode: receipt.carrierCode,
    occurredAtMs: receipt.occurredAtMs,
  };
}
