/** Properties that hold between a campaign and its rows (`docs/invariants.md`). */
import { ROW_STATUSES } from "../../shared/core/campaign-status.ts";
import { type Campaign, isFinished } from "./campaign.ts";
import { countChanges, type Progress } from "./progress.ts";
import type { Row } from "./row.ts";

/** A property that does not hold. */
export type Breach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

/** Numbers of the invariants in `docs/invariants.md`. */
const INVARIANTS = { rows: 11, counts: 12, endings: 13 } as const;

/** The counts that rows amount to, one page after the other. */
export function countRows(progress: Progress, rows: readonly Row[]): Progress {
  return countChanges(
    progress,
    rows.map((after) => ({ before: undefined, after })),
  );
}

/** Compares a campaign with the counts of its rows. */
export function checkCampaign(campaign: Campaign, counted: Progress): Breach[] {
  const { id, progress, status } = campaign;
  const breaches: Breach[] = [];
  const differing = [...ROW_STATUSES, "held" as const, "charged" as const].filter(
    (name) => progress[name] !== counted[name],
  );
  if (differing.length > 0) {
    const what = `the counts differ from the rows: ${differing.join(", ")}`;
    breaches.push({ invariant: INVARIANTS.counts, what, ids: [id] });
  }
  const { budget } = campaign.content;
  if (budget !== undefined && counted.charged + counted.held > budget) {
    const what = "charges and holds exceed the budget";
    breaches.push({ invariant: INVARIANTS.rows, what, ids: [id] });
  }
  const isUnfinished = counted.waiting > 0 || counted.queued > 0;
  if (status === "completed" && isUnfinished && !isFinished(campaign)) {
    const what = "the campaign is completed although a row waits or a message is queued";
    breaches.push({ invariant: INVARIANTS.endings, what, ids: [id] });
  }
  return breaches;
}

/** Checks each row by itself. */
export function checkRows(rows: readonly Row[]): Breach[] {
  const wrong = rows.filter(({ status, messageId }) => {
    if (status === "waiting" || status === "rejected") return messageId !== undefined;
    return status !== "cancelled" && messageId === undefined;
  });
  if (wrong.length === 0) return [];
  const what = "rows whose status does not fit their message";
  const ids = wrong.slice(0, 100).map(({ rowSet, index }) => `${rowSet}#${index}`);
  return [{ invariant: INVARIANTS.rows, what, ids }];
}
