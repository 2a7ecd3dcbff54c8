/**
 * The newest submissions in memory: most receipts come within seconds, to the process that made
 * the submit, and then cost no read. It also knows which outcomes are still on their way, so that a
 * receipt on the heels of its submit's answer waits a moment instead of overtaking it.
 */
import { setRecent } from "../../shared/flow/lru.ts";
import { type Submission, submissionName } from "../domain/submission.ts";

/** A submission, and the report of its message's outcome while that is under way. */
export type RecentSubmission = {
  readonly submission: Submission;
  reported: Promise<void> | undefined;
};

/** The bounded memory. */
export type RecentSubmissions = {
  /** Remembers a submission whose message's outcome will be reported by the promise. */
  add(submission: Submission, reported: Promise<void>): void;
  find(name: string): RecentSubmission | undefined;
};

/** Makes a memory of at most `max` submissions, oldest forgotten first. */
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
