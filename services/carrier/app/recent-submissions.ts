/**
 * A cache of the newest submissions. Most receipts come within seconds, to the process that made the submit, and
 * then need no read. The cache also knows which outcomes are not reported yet, so that a receipt waits a moment
 * for its submit's outcome instead of overtaking it.
 */
import { setRecent } from "../../shared/flow/lru.ts";
import { type Submission, submissionName } from "../domain/submission.ts";

/** A submission; `reported` is set until its message's outcome is reported. */
export type RecentSubmission = {
  readonly submission: Submission;
  reported: Promise<void> | undefined;
};

export type RecentSubmissions = {
  /** Adds a submission; `reported` resolves when the outcome of its message is reported. */
  add(submission: Submission, reported: Promise<void>): void;
  find(name: string): RecentSubmission | undefined;
};

/** Creates a cache of at most `max` submissions that evicts the oldest. */
export function createRecentSubmissions(max: number): RecentSubmissions {
  const entries = new Map<string, RecentSubmission>();
  return {
    add(submission, reported) {
      const entry: RecentSubmission = { submission, reported };
      const name = submissionName(submission.connectorId, submission.key);
      setRecent(entries, name, entry, max);
      void reported.then(() => {
        entry.reported = undefined;
      });
    },
    find: (name) => entries.get(name),
  };
}
