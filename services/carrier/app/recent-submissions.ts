/**
 * A cache of the newest submissions. Most receipts come within seconds, to the process that made the submit, and
 * then need no read. The cache also knows which outcomes are not reported yet, so that a receipt waits a moment
 * for its submit's outcome instead of overtaking it, and which submissions had their final receipt.
 */
import { setRecent } from "../../shared/flow/lru.ts";
import type { Candidate } from "../domain/choose-submission.ts";
import { isSameSubmit, type Submission, submissionName } from "../domain/submission.ts";

/** A submission; `reported` is set until its message's outcome is reported. */
export type RecentSubmission = {
  readonly submission: Submission;
  reported: Promise<void> | undefined;
  isEnded: boolean;
};

export type RecentSubmissions = {
  /** Adds a submission; `reported` resolves when the outcome of its message is reported. */
  add(submission: Submission, reported: Promise<void>): void;
  /** The submissions of a name: several when the carrier has used its id again. */
  find(name: string): readonly RecentSubmission[];
  /** Notes a final receipt: it counts for the first of these submissions that had none yet. */
  end(submissions: readonly Submission[]): void;
};

const NONE: readonly RecentSubmission[] = [];
/** Submissions kept per name, as a carrier may give many submits one id; the store has the older ones. */
const PER_NAME_MAX = 200;

/** Creates a cache of the submissions of at most `max` names that evicts the oldest. */
export function createRecentSubmissions(max: number): RecentSubmissions {
  const entries = new Map<string, RecentSubmission[]>();
  const find = (name: string) => entries.get(name) ?? NONE;
  return {
    add(submission, reported) {
      const entry: RecentSubmission = { submission, reported, isEnded: false };
      const name = submissionName(submission.connectorId, submission.key);
      const others = entries.get(name)?.filter((one) => !isSameSubmit(one.submission, submission));
      setRecent(entries, name, [...(others ?? []), entry].slice(-PER_NAME_MAX), max);
      void reported.then(() => {
        entry.reported = undefined;
      });
    },
    find,
    end(submissions) {
      const [first] = submissions;
      if (first === undefined) return;
      const known = find(submissionName(first.connectorId, first.key));
      const open = known.find(
        ({ submission, isEnded }) =>
          !isEnded && submissions.some((one) => isSameSubmit(one, submission)),
      );
      if (open !== undefined) open.isEnded = true;
    },
  };
}

/** A cached submission as a candidate for a receipt. */
export function toCandidate({ submission, isEnded }: RecentSubmission): Candidate {
  return { submission, isOpen: !isEnded };
}
