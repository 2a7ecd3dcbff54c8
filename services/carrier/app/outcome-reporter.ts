/**
 * The way of outcomes to messaging. Each goes in this order, in batches, and a failure starts again
 * where it stood, for ever, because an outcome that is dropped is a message lost or sent twice:
 *
 * 1. the submissions behind it are stored, so that their receipts find their message, also while
 *    messaging is away, and after a crash;
 * 2. messaging is told;
 * 3. the journal notes that these messages are settled.
 *
 * While batches fail, `isStuck` tells the claim loops to stop, so what is held here stays bounded
 * by what was claimed. An outcome that messaging itself calls wrong stops no other: it is set aside
 * and told again by itself, slowly, for as long as the process lives; the journal keeps its line.
 * It is worth something for some twenty minutes: then messaging takes the claim for lost, and ends it.
 */

import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { MessagingPort } from "../adapters/messaging-client.ts";
import { isOutage } from "../adapters/transport-errors.ts";
import type { JournalEntry } from "../domain/journal-lines.ts";
import type { Outcome } from "../domain/message.ts";
import type { Submission, UnknownSubmission } from "../domain/submission.ts";
import type { Journal } from "../store/journal.ts";
import type { CarrierStore } from "../store/submissions.ts";

/** An outcome with what must be durable before it is reported. */
export type Settlement = {
  readonly outcome: Outcome;
  readonly submissions: readonly Submission[];
  readonly unknowns: readonly UnknownSubmission[];
  /** Submits that were in doubt and are not any more. */
  readonly resolved: readonly UnknownSubmission[];
  /** Called once messaging knows. */
  readonly onReported?: () => void;
};

/** A settlement with its line in the journal, if its octets may have left. */
type Report = Settlement & { readonly line: JournalEntry | undefined };

/** The reporter of outcomes. */
export type OutcomeReporter = {
  report(settlement: Settlement): void;
  /**
   * Stores what the carrier has taken of a message whose outcome is still to come: a receipt of it would else
   * be given to an older message in doubt to the same number.
   */
  keep(submissions: readonly Submission[]): void;
  /** Outcomes not yet reported. */
  readonly pending: number;
  /** Those of them that messaging calls wrong. */
  readonly setAside: number;
  /** True while batches fail, or more wait or are set aside than should: claim nothing. */
  readonly isStuck: boolean;
  /**
   * Waits until everything is reported, at most so long; answers whether it is. What was set aside is
   * told once more, at once.
   */
  drain(limitMs: number): Promise<boolean>;
};

const BATCH_MAX = 500;
const LANES = 3;
const PENDING_MAX = 10_000;
/** So many outcomes that are refused one by one are no accident of some messages: claim nothing more. */
const SET_ASIDE_MAX = 100;
const SET_ASIDE_PAUSE_MAX_MS = 60_000;
/** A batch leaves this long after the one before it: nobody waits for it, and a larger one costs less. */
const PACE_MS = 50;

/** Makes the reporter. */
export function createOutcomeReporter(options: {
  readonly store: Pick<CarrierStore, "saveSubmissions" | "saveUnknowns" | "removeUnknowns">;
  readonly messaging: Pick<MessagingPort, "reportOutcomes">;
  readonly journal: Pick<Journal, "lineOf" | "noteReported">;
  readonly log: Logger;
  /** Told which submissions are stored, to look for receipts that came before them. */
  readonly onStored: (submissions: readonly Submission[]) => void;
}): OutcomeReporter {
  const { store, messaging, journal, log } = options;
  let pending = 0;
  let failures = 0;
  /** Stores that have failed and are tried again. */
  let unstored = 0;
  let setAside = 0;
  const closing = new AbortController();
  const bounds = {
    batchMax: BATCH_MAX,
    // None is refused: claiming stops at PENDING_MAX, and what was claimed has an outcome.
    queueMax: Number.POSITIVE_INFINITY,
    concurrency: LANES,
    // A batch is never tried again in parts: each step of it insists by itself.
    isTransient: () => true,
  };
  const storing = createBatcher<Report, Report>({
    ...bounds,
    ...{ name: "submissions", minIntervalMs: PACE_MS, flush: storeAll },
  });
  const telling = createBatcher<Report, boolean>({
    ...bounds,
    ...{ name: "outcomes", flush: tellAll },
  });

  async function storeAll(batch: readonly Report[]): Promise<readonly Report[]> {
    const unknowns = batch.flatMap((settlement) => settlement.unknowns);
    const resolved = batch.flatMap((settlement) => settlement.resolved);
    await save(batch.flatMap((settlement) => settlement.submissions));
    if (unknowns.length > 0) await insist("unknowns", () => store.saveUnknowns(unknowns));
    if (resolved.length > 0) await insist("resolved", () => store.removeUnknowns(resolved));
    return batch;
  }

  async function save(submissions: readonly Submission[]): Promise<void> {
    if (submissions.length === 0) return;
    await insist("submissions", () => store.saveSubmissions(submissions));
    options.onStored(submissions);
  }

  /** Answers of each whether messaging knows it. */
  async function tellAll(batch: readonly Report[]): Promise<boolean[]> {
    const told = await tell(batch.map(({ outcome }) => outcome));
    finish(batch.filter((_, at) => told[at]));
    return told;
  }

  function finish(reports: readonly Report[]): void {
    noteReported(reports.flatMap(({ line }) => line ?? []));
    for (const { onReported } of reports) onReported?.();
  }

  /** Messaging knows the outcomes; that the journal cannot say so costs a question after a crash, no more. */
  function noteReported(lines: readonly JournalEntry[]): void {
    try {
      journal.noteReported(lines);
    } catch (error) {
      log.warn({ error, lines: lines.length }, "the journal could not note reported outcomes");
    }
  }

  /**
   * Insists while messaging cannot be reached. A batch that it calls wrong is told by halves; answers of
   * each whether it was taken.
   */
  async function tell(outcomes: readonly Outcome[]): Promise<boolean[]> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const stale = await messaging.reportOutcomes(outcomes);
        if (stale.length > 0)
          log.warn({ count: stale.length }, "outcomes of claims lost meanwhile");
        failures = 0;
        return outcomes.map(() => true);
      } catch (error) {
        if (!isOutage(error)) {
          // Messaging answers: what is wrong with these outcomes keeps nobody from claiming.
          failures = 0;
          return await tellHalves(outcomes, error);
        }
        failures += 1;
        log.warn({ error, outcomes: outcomes.length, attempt }, "outcomes are reported again");
        await pause(backoffMs(attempt, 50, 2000));
      }
    }
  }

  async function tellHalves(outcomes: readonly Outcome[], error: unknown): Promise<boolean[]> {
    const [outcome] = outcomes;
    if (outcomes.length === 1) {
      log.error({ error, message: outcome?.messageId }, "an outcome was refused; it is set aside");
      return [false];
    }
    const half = Math.ceil(outcomes.length / 2);
    const told = await tell(outcomes.slice(0, half));
    return [...told, ...(await tell(outcomes.slice(half)))];
  }

  /** Tells a refused outcome by itself until it is taken: by another version of messaging, perhaps. */
  async function tellAside(report: Report): Promise<void> {
    setAside += 1;
    for (let attempt = 0; ; attempt += 1) {
      const isLast = closing.signal.aborted;
      await pause(backoffMs(attempt, 1000, SET_ASIDE_PAUSE_MAX_MS), closing.signal);
      const [isTold = false] = await tell([report.outcome]);
      if (isTold) break;
      if (isLast) return;
    }
    setAside -= 1;
    finish([report]);
  }

  async function pass(report: Report): Promise<void> {
    const isTold = await telling.add(await storing.add(report));
    if (!isTold) await tellAside(report);
    pending -= 1;
  }

  async function insist(what: string, work: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await work();
        if (attempt > 0) unstored -= 1;
        return;
      } catch (error) {
        if (attempt === 0) unstored += 1;
        log.warn({ error, what, attempt }, "storing is tried again");
        await pause(backoffMs(attempt, 50, 2000));
      }
    }
  }

  return {
    report(settlement) {
      pending += 1;
      // Looked up before messaging hears of it: by its answer the message may be claimed and written anew.
      const line = journal.lineOf(settlement.outcome.messageId);
      void pass({ ...settlement, line });
    },
    keep: (submissions) => void save(submissions),
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
      const deadlineMs = performance.now() + limitMs;
      while (pending > 0 && performance.now() < deadlineMs) await pause(5);
      return pending + setAside === 0;
    },
  };
}
