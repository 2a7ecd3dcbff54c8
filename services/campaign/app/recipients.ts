/** The rows of a draft: added in steps, each one transaction with its counts. */
import type { Clock } from "../../shared/core/clock.ts";
import { createRowFaults, isFault, type RowFault } from "../../shared/core/row-faults.ts";
import { type Campaign, withoutRows } from "../domain/campaign.ts";
import { type CheckedRow, checkRow, type SubmittedRow } from "../domain/check-row.ts";
import { countChanges, totalOf } from "../domain/progress.ts";
import type { Row } from "../domain/row.ts";
import { findCampaign, inDraft } from "./campaigns.ts";
import type { CampaignStore, RowFilter, Scope } from "./ports.ts";

/** The result of adding rows. */
export type Import = {
  readonly taken: number;
  readonly rejected: number;
  readonly duplicates: number;
  readonly faults: readonly RowFault[];
};

/** The rows that one transaction adds. */
const STEP = 1000;

export function createRecipients(parts: {
  readonly store: CampaignStore;
  readonly clock: Clock;
  readonly rowsMax: number;
}) {
  const { store, clock, rowsMax } = parts;

  /** Adds checked rows; returns how many were new. */
  function addStep(scope: Scope, id: string, checked: readonly CheckedRow[]) {
    return inDraft(store, scope, id, "add recipients", async (tx) => {
      const { campaign } = tx;
      const known = new Set((await tx.statesByNumber(checked.map(({ to }) => to))).keys());
      const fresh: CheckedRow[] = [];
      for (const row of checked) {
        if (known.has(row.to)) continue;
        known.add(row.to);
        fresh.push(row);
      }
      const room = Math.max(0, rowsMax - totalOf(campaign.progress));
      const added = fresh
        .slice(0, room)
        .map((row, at) => newRow(campaign.rowSet, campaign.nextRow + at, row));
      await tx.insertRows(added);
      const progress = countChanges(
        campaign.progress,
        added.map((after) => ({ before: undefined, after })),
      );
      const nextRow = campaign.nextRow + added.length;
      return {
        result: { taken: added.length, excess: fresh.slice(room) },
        campaign: added.length === 0 ? undefined : { ...campaign, progress, nextRow },
      };
    });
  }

  return {
    /** Errors: `not_found`, `invalid_state_transition`. `rows` may also yield faults of lines that are no rows. */
    async add(
      scope: Scope,
      id: string,
      rows: AsyncIterable<SubmittedRow | RowFault> | Iterable<SubmittedRow | RowFault>,
    ): Promise<Import> {
      const counts = { taken: 0, duplicates: 0 };
      const faults = createRowFaults();
      let step: CheckedRow[] = [];
      const flush = async () => {
        const { taken, excess } = await addStep(scope, id, step);
        counts.taken += taken;
        counts.duplicates += step.length - taken - excess.length;
        for (const { line } of excess) faults.add(tooMany(line, rowsMax));
        step = [];
      };
      for await (const row of rows) {
        const checked = isFault(row) ? row : checkRow(row);
        if (isFault(checked)) faults.add(checked);
        else if (step.push(checked) === STEP) await flush();
      }
      // Run a transaction also without rows: it checks that the campaign exists and is a draft.
      await flush();
      return { ...counts, ...faults.result() };
    },

    async list(scope: Scope, id: string, filter: Omit<RowFilter, "rowSet">): Promise<Row[]> {
      const campaign = await findCampaign(store, scope, id);
      return store.rows({ ...filter, rowSet: campaign.rowSet });
    },

    /** Removes every row at once, however many there are. Errors: `not_found`, `invalid_state_transition`. */
    clear(scope: Scope, id: string): Promise<Campaign> {
      return inDraft(store, scope, id, "remove recipients", async (tx) => {
        if (tx.campaign.nextRow === 0) return { result: tx.campaign };
        await tx.discardRows();
        const campaign = withoutRows(tx.campaign, clock.now());
        return { result: campaign, campaign };
      });
    },
  };
}

function newRow(rowSet: string, index: number, checked: CheckedRow): Row {
  return {
    rowSet,
    index,
    to: checked.to,
    variables: checked.variables,
    clientReference: checked.clientReference,
    status: "waiting",
    messageId: undefined,
    messageAtMs: 0,
    held: 0n,
    amount: 0n,
    takenBack: [],
    error: undefined,
  };
}

function tooMany(line: number, rowsMax: number): RowFault {
  const message = `A campaign has at most ${rowsMax} recipients.`;
  return { line, field: "to", code: "too_many_recipients", message };
}
