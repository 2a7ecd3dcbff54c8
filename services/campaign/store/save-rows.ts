/**
 * Writes changed rows with few statements. Most rows of a batch move to the same status at the same price, and one
 * statement updates all of them. Other rows are deleted and inserted (ADR 34).
 */
import { type ClientSession, type Collection, Long } from "mongodb";
import type { RowChange } from "../app/ports.ts";
import type { Row } from "../domain/row.ts";
import { fromRow, type RowDocument, rowId } from "./documents.ts";

/** An update of fewer rows is not worth a statement of its own. */
const UPDATED_TOGETHER_MIN = 20;

/** Writes the changes in the transaction that has read the rows. */
export async function saveRows(
  rows: Collection<RowDocument>,
  changes: readonly RowChange[],
  session: ClientSession,
): Promise<void> {
  const replaced: Row[] = [];
  for (const [move, some] of Map.groupBy(changes, moveOf)) {
    const [first] = some;
    if (move === undefined || first === undefined || some.length < UPDATED_TOGETHER_MIN) {
      replaced.push(...some.map(({ after }) => after));
      continue;
    }
    const { status, amount } = first.after;
    const ids = some.map(({ after }) => rowId(after.rowSet, after.to));
    const $set = { status, ...(amount === 0n ? {} : { amount: Long.fromBigInt(amount) }) };
    await rows.updateMany({ _id: { $in: ids } }, { $set }, { session });
  }
  if (replaced.length === 0) return;
  const documents = replaced.map(fromRow);
  const ids = documents.map(({ _id }) => _id);
  await rows.deleteMany({ _id: { $in: ids } }, { session });
  await rows.insertMany(documents, { session });
}

/** The status and the amount after a change that changes nothing else; undefined for every other change. */
function moveOf({ before, after }: RowChange): string | undefined {
  const { status, amount } = after;
  const isMove =
    before.messageId === after.messageId &&
    before.messageAtMs === after.messageAtMs &&
    before.held === after.held &&
    before.error === after.error &&
    before.takenBack === after.takenBack &&
    (amount !== 0n || before.amount === 0n);
  return isMove ? `${status} ${amount}` : undefined;
}
