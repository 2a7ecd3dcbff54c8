/**
 * The newest submissions in memory: most receipts come within seconds, to the process that made
 * the submit, and then cost no read. It also knows which outcomes are still on their way, so that a
 * receipt on the heels of its submit's answer waits a moment instead of overtaking it.
 */
import { type Submission, submissionName } from "./domain/submission.ts";

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
      entries.delete(name);
      entries.set(name, entry);
      void reported.then(() => {
        entry.reported = undefined;
      });
      if (entries.size <= max) return;
      const oldest = entries.keys().next().value;
      if (oldest !== undefined) entries.delete(oldest);
    },
    find: (name) => entries.get(name),
  };
}
