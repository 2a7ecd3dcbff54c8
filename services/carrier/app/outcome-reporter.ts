/**
 * Reports outcomes to messaging, in batches and in this order. Each step retries for ever, because a dropped
 * outcome is a message lost or sent twice.
 *
 * 1. Store the submissions, so that receipts find their message even while messaging is unavailable and after a
 *    crash.
 * 2. Report the outcomes to messaging.
 * 3. Settle the messages in the journal.
 *
 * While a step fails, `isStuck` stops the claim loops, so the claims bound the memory. An outcome that messaging
 * rejects blocks no other: it is set aside and reported alone, with a backoff up to one minute, while the process
 * lives; the journal keeps its entry. After some twenty minutes messaging treats the claim as lost and ends it.
 */

import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { isolateFailingItems } from "../../shared/flow/isolate-failing-items.ts";
import { retry } from "../../shared/flow/retry.ts";
import { waitUntilIdle } from "../../shared/flow/wait-until-idle.ts";
import type { JournalEntry } from "../domain/journal-lines.ts";
import type { Outcome } from "../domain/message.ts";
import type { Submission, UnknownSubmission } from "../domain/submission.ts";
import type { Journal, MessagingClient, SubmissionStore } from "./ports.ts";

/** An outcome, with the submissions that must be durable before it is reported. */
export type OutcomeReport = {
  readonly outcome: Outcome;
  readonly submissions: readonly Submission[];
  readonly unknowns: readonly UnknownSubmission[];
  /** Submits that are no longer in doubt. */
  readonly resolved: readonly UnknownSubmission[];
  /** Keeps the journal entry: another report about the message follows. */
  readonly keepsEntry?: boolean;
  /** Called when messaging has the outcome; `isProven` when a receipt has proved an outcome in doubt. */
  readonly onReported?: (isProven: boolean) => void;
};

/** A report with its journal entry, if octets of the message may have left. */
type PendingReport = OutcomeReport & { readonly entry: JournalEntry | undefined };

export type OutcomeReporter = {
  report(report: OutcomeReport): void;
  /**
   * Stores accepted parts of a message that has no outcome yet. Otherwise their receipts could match an older
   * message in doubt to the same number.
   */
  saveSubmissions(submissions: readonly Submission[]): void;
  /** Outcomes not yet reported. */
  readonly pending: number;
  /** Pending outcomes that messaging rejects. */
  readonly setAside: number;
  /** True while a step fails, or too many outcomes are pending or set aside: claim nothing. */
  readonly isStuck: boolean;
  /**
   * Waits at most `limitMs` until everything is reported; returns whether it is. Outcomes that were set aside are
   * reported once more, at once.
   */
  drain(limitMs: number): Promise<boolean>;
};

const BATCH_MAX = 500;
const BATCHES_IN_FLIGHT_MAX = 3;
const PENDING_MAX = 10_000;
/** With this many rejected outcomes the fault is not in single messages: claim nothing more. */
const SET_ASIDE_MAX = 100;
const SET_ASIDE_PAUSE_MAX_MS = 60_000;
/** The interval between batches of stored submissions: no caller waits for them, and larger batches cost less. */
const STORE_INTERVAL_MS = 50;

export function createOutcomeReporter(options: {
  readonly store: Pick<SubmissionStore, "saveSubmissions" | "saveUnknowns" | "removeUnknowns">;
  readonly messaging: Pick<MessagingClient, "reportOutcomes">;
  readonly journal: Pick<Journal, "entryOf" | "markReported">;
  readonly log: Logger;
  /** Called with stored submissions, to match receipts that came before them. */
  readonly onStored: (submissions: readonly Submission[]) => void;
  /** Called with each report, before it is stored. */
  readonly onReport?: (report: OutcomeReport) => void;
}): OutcomeReporter {
  const { store, messaging, journal, log } = options;
  let pending = 0;
  let failures = 0;
  /** Store calls that have failed and are being retried. */
  let unstored = 0;
  let setAside = 0;
  const closing = new AbortController();
  const bounds = {
    batchMax: BATCH_MAX,
    // Refuse none: claiming stops at PENDING_MAX, and every claimed message has an outcome.
    queueMax: Number.POSITIVE_INFINITY,
    concurrency: BATCHES_IN_FLIGHT_MAX,
    // Never split a batch here: each step retries and splits by itself.
    isTransient: () => true,
  };
  const storing = createBatcher<PendingReport, PendingReport>({
    ...bounds,
    ...{ name: "submissions", minIntervalMs: STORE_INTERVAL_MS, flush: storeAll },
  });
  const reporting = createBatcher<PendingReport, boolean>({
    ...bounds,
    ...{ name: "outcomes", flush: reportAll },
  });

  async function storeAll(batch: readonly PendingReport[]): Promise<readonly PendingReport[]> {
    const unknowns = batch.flatMap(({ unknowns: of }) => of);
    const resolved = batch.flatMap(({ resolved: of }) => of);
    await save(batch.flatMap(({ submissions }) => submissions));
    if (unknowns.length > 0) await storeWithRetry("unknowns", () => store.saveUnknowns(unknowns));
    if (resolved.length > 0) await storeWithRetry("resolved", () => store.removeUnknowns(resolved));
    return batch;
  }

  async function save(submissions: readonly Submission[]): Promise<void> {
    if (submissions.length === 0) return;
    await storeWithRetry("submissions", () => store.saveSubmissions(submissions));
    options.onStored(submissions);
  }

  /** Returns for each report whether messaging has it. */
  async function reportAll(batch: readonly PendingReport[]): Promise<boolean[]> {
    const { rejected, proven } = await sendToMessaging(batch.map(({ outcome }) => outcome));
    const isAccepted = ({ outcome }: PendingReport) => !rejected.has(outcome);
    finish(batch.filter(isAccepted), proven);
    return batch.map(isAccepted);
  }

  function finish(reports: readonly PendingReport[], proven: ReadonlySet<string>): void {
    settleInJournal(reports.flatMap(({ entry }) => entry ?? []));
    for (const { onReported, outcome } of reports) onReported?.(proven.has(outcome.messageId));
  }

  /** A failure is safe: after a crash the carrier reports these messages as written once more. */
  function settleInJournal(entries: readonly JournalEntry[]): void {
    try {
      journal.markReported(entries);
    } catch (error) {
      log.warn({ error, lines: entries.length }, "the journal could not note reported outcomes");
    }
  }

  /** Returns the outcomes that messaging rejects, which block no others, and the ids of messages that are proven. */
  async function sendToMessaging(outcomes: readonly Outcome[]) {
    const rejected = new Set<Outcome>();
    const proven = new Set<string>();
    await isolateFailingItems(outcomes, {
      run: async (some) => {
        for (const messageId of await sendWithRetry(some)) proven.add(messageId);
      },
      canSplit: () => true,
      onFailure([outcome], error) {
        if (outcome !== undefined) rejected.add(outcome);
        log.error({ error, message: outcome?.messageId }, "an outcome was rejected and set aside");
      },
    });
    return { rejected, proven };
  }

  /** Retries while messaging is unavailable; rejects when messaging rejects the batch. */
  async function sendWithRetry(outcomes: readonly Outcome[]): Promise<readonly string[]> {
    const send = () => messaging.reportOutcomes(outcomes);
    try {
      const { stale, proven } = await retry(send, {
        baseMs: 50,
        capMs: 2000,
        isRetryable: isUnavailable,
        onRetry(error, attempt) {
          failures += 1;
          log.warn({ error, outcomes: outcomes.length, attempt }, "reporting outcomes is retried");
        },
      });
      if (stale.length > 0) log.warn({ count: stale.length }, "outcomes of claims that were lost");
      return proven;
    } finally {
      // Messaging answers, so rejected outcomes must not stop claims.
      failures = 0;
    }
  }

  /** Reports a rejected outcome alone until messaging takes it; a newer version of messaging may. */
  async function reportAlone(report: PendingReport): Promise<void> {
    setAside += 1;
    for (let attempt = 0; ; attempt += 1) {
      const isLast = closing.signal.aborted;
      await pause(backoffMs(attempt, 1000, SET_ASIDE_PAUSE_MAX_MS), closing.signal);
      const { rejected, proven } = await sendToMessaging([report.outcome]);
      if (rejected.size === 0) {
        setAside -= 1;
        return finish([report], proven);
      }
      if (isLast) return;
    }
  }

  async function storeAndReport(report: PendingReport): Promise<void> {
    const isAccepted = await reporting.add(await storing.add(report));
    if (!isAccepted) await reportAlone(report);
    pending -= 1;
  }

  async function storeWithRetry(what: string, work: () => Promise<void>): Promise<void> {
    let isRetrying = false;
    await retry(work, {
      baseMs: 50,
      capMs: 2000,
      onRetry(error, attempt) {
        if (!isRetrying) unstored += 1;
        isRetrying = true;
        log.warn({ error, what, attempt }, "a store call is retried");
      },
    });
    if (isRetrying) unstored -= 1;
  }

  return {
    report(report) {
      pending += 1;
      options.onReport?.(report);
      // Find the entry now: once messaging has the outcome, the message may be claimed again and get a new entry.
      const { outcome, keepsEntry = false } = report;
      const entry = journal.entryOf(outcome.messageId);
      const unknowns = report.unknowns.map((unknown) => withSubmitTime(unknown, entry));
      void storeAndReport({ ...report, unknowns, entry: keepsEntry ? undefined : entry });
    },
    saveSubmissions: (submissions) => void save(submissions),
    get pending() {
      return pending;
    },
    get setAside() {
      return setAside;
    },
    get isStuck() {
      return failures + unstored > 0 || pending >= PENDING_MAX || setAside >= SET_ASIDE_MAX;
    },
    async drain(limitMs) {
      closing.abort();
      await waitUntilIdle(() => pending === 0, limitMs);
      return pending + setAside === 0;
    },
  };
}

/** A submit in doubt with the time at which its message's first octets could leave: the time of its journal entry. */
function withSubmitTime(
  unknown: UnknownSubmission,
  entry: JournalEntry | undefined,
): UnknownSubmission {
  return entry === undefined ? unknown : { ...unknown, submittedAtMs: entry.atMs };
}
