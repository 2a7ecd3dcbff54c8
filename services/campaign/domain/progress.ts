/** Counts of a campaign's rows; each row counts once, by the present status of its message. */
import { ROW_STATUSES, type RowStatus } from "../../shared/core/campaign-status.ts";

/** How many rows are in each state, and their money in 1/10,000 of the currency unit. */
export type Progress = Readonly<Record<RowStatus, number>> & {
  readonly held: bigint;
  readonly charged: bigint;
};

/** The fields of a row on which its campaign's counts depend. */
export type Counted = {
  readonly status: RowStatus;
  /** Held for the message when it was accepted. */
  readonly held: bigint;
  /** Charged; 0 until sent. */
  readonly amount: bigint;
};

export const EMPTY_PROGRESS: Progress = Object.freeze({
  waiting: 0,
  queued: 0,
  sent: 0,
  delivered: 0,
  undelivered: 0,
  expired: 0,
  rejected: 0,
  failed: 0,
  cancelled: 0,
  held: 0n,
  charged: 0n,
});

/** The sum of the counts: every row once. */
export function totalOf(progress: Progress): number {
  return ROW_STATUSES.reduce((sum, status) => sum + progress[status], 0);
}

/** The counts after rows have changed. `before` is undefined for a new row, `after` for a removed one. */
export function countChanges(
  progress: Progress,
  changes: readonly { readonly before: Counted | undefined; readonly after: Counted | undefined }[],
): Progress {
  const next = { ...progress };
  const add = (row: Counted | undefined, sign: 1 | -1) => {
    if (row === undefined) return;
    next[row.status] += sign;
    // A hold ends when its message is charged or ends uncharged.
    if (row.status === "queued") next.held += BigInt(sign) * row.held;
    next.charged += BigInt(sign) * row.amount;
  };
  for (const { before, after } of changes) {
    add(before, -1);
    add(after, 1);
  }
  return next;
}
