/**
 * Reads and writes rows in a transaction, or reads them outside. A row is a document that does not change, and a state
 * in the document of its group. Documents of states are replaced by delete and insert, as messages are (ADR 34).
 */
import type { ClientSession, Collection, Db } from "mongodb";
import type { RowStatus } from "../../shared/core/campaign-status.ts";
import type { CampaignTransaction, RowChange, RowFilter } from "../app/ports.ts";
import type { Row, RowState } from "../domain/row.ts";
import { INDEXES } from "./collections.ts";
import { fromRow, type RowDocument, rowId } from "./documents.ts";
import {
  emptyStates,
  groupOf,
  placesOf,
  type RowStatesDocument,
  stateAt,
  statesId,
  toRow,
  withRows,
} from "./row-states.ts";

/** By default MongoDB returns 101 documents first, and more cost another round trip. */
const BATCH_MAX = 1000;
/** A scan outside a transaction could miss a document between its deletion and its insertion. */
const SNAPSHOT = { readConcern: { level: "snapshot" } } as const;
/** Amounts are read as int64. */
const EXACT = { promoteLongs: false } as const;

/** The rows of one set. */
export type RowStore = {
  byNumber(numbers: readonly string[]): Promise<Row[]>;
  /** In the order of their places. */
  byIndex(indexes: readonly number[]): Promise<Row[]>;
  /** Rows in the order of their places; without statuses rows of every status. */
  page(filter: Omit<RowFilter, "rowSet">): Promise<Row[]>;
  insert(rows: readonly Row[]): Promise<void>;
  save(changes: readonly RowChange[]): Promise<void>;
  /** As in the port. */
  firstWaitingStates: CampaignTransaction["firstWaitingStates"];
  statesByIndex: CampaignTransaction["statesByIndex"];
  /** As in the port. Places that `knownPlace` does not return are read. */
  statesByNumber(
    numbers: readonly string[],
    knownPlace: (to: string) => number | undefined,
  ): Promise<Map<string, RowState>>;
};

/** The rows of a set, as the session's transaction sees them; without a session as they are. */
export function createRowStore(db: Db, rowSet: string, session?: ClientSession): RowStore {
  const rows: Collection<RowDocument> = db.collection("rows", EXACT);
  const states: Collection<RowStatesDocument> = db.collection("row_states", EXACT);
  const inTransaction = session === undefined ? {} : { session };
  const options = { ...(session === undefined ? SNAPSHOT : inTransaction), batchSize: BATCH_MAX };
  /** Documents of states that were read or written, by group. */
  const known = new Map<number, RowStatesDocument>();

  /** Adds the states of these rows to the known ones. */
  async function readStates(indexes: readonly number[]): Promise<void> {
    const missing = [...new Set(indexes.map(groupOf))].filter((group) => !known.has(group));
    if (missing.length === 0) return;
    const ids = missing.map((group) => statesId(rowSet, group));
    const found = await states.find({ _id: { $in: ids } }, options).toArray();
    for (const document of found) known.set(document.group, document);
  }

  /** Reads the states of some rows: pairs of what names the row, and its state. */
  async function statesOf<T extends { readonly index: number }>(
    named: readonly T[],
  ): Promise<[T, RowState][]> {
    await readStates(named.map(({ index }) => index));
    return named.flatMap((one) => {
      const state = stateAt(one.index, known.get(groupOf(one.index)));
      return state === undefined ? [] : [[one, state]];
    });
  }

  async function withStates(documents: readonly RowDocument[]): Promise<Row[]> {
    return (await statesOf(documents)).map(([row, state]) => toRow(row, state));
  }

  async function statesByIndex(indexes: readonly number[]): Promise<Map<number, RowState>> {
    const found = await statesOf(indexes.map((index) => ({ index })));
    return new Map(found.map(([{ index }, state]) => [index, state]));
  }

  async function byIndex(indexes: readonly number[]): Promise<Row[]> {
    if (indexes.length === 0) return [];
    const places = { campaign_id: rowSet, index: { $in: [...indexes] } };
    return withStates(await rows.find(places, options).sort({ index: 1 }).toArray());
  }

  /** The places of the first rows after `afterIndex` with one of the statuses. */
  async function placesWith(statuses: readonly RowStatus[], afterIndex: number, limit: number) {
    const groups = groupOf(limit) + 2;
    const places: number[] = [];
    for (let next = groupOf(afterIndex + 1); places.length < limit; ) {
      const some = { campaign_id: rowSet, statuses: { $in: [...statuses] }, group: { $gte: next } };
      const found = await states
        .find(some, { ...options, hint: INDEXES.byStatus })
        .sort({ group: 1 })
        .limit(groups)
        .toArray();
      for (const document of found) {
        known.set(document.group, document);
        places.push(...placesOf(document, statuses).filter((place) => place > afterIndex));
      }
      if (found.length < groups) break;
      next = (found.at(-1)?.group ?? next) + 1;
    }
    return places.slice(0, limit);
  }

  /** Writes the states of changed or new rows. */
  async function writeStates(changed: readonly RowState[]): Promise<void> {
    await readStates(changed.map(({ index }) => index));
    const byGroup = Map.groupBy(changed, ({ index }) => groupOf(index));
    const documents = [...byGroup].map(([group, some]) =>
      withRows(known.get(group) ?? emptyStates(rowSet, group), some),
    );
    const stored = documents.filter(({ group }) => known.has(group)).map(({ _id }) => _id);
    if (stored.length > 0) await states.deleteMany({ _id: { $in: stored } }, inTransaction);
    await states.insertMany(documents, inTransaction);
    for (const document of documents) known.set(document.group, document);
  }

  return {
    byIndex,
    async byNumber(numbers) {
      const ids = numbers.map((to) => rowId(rowSet, to));
      return withStates(await rows.find({ _id: { $in: ids } }, options).toArray());
    },
    async firstWaitingStates(limit) {
      return [...(await statesByIndex(await placesWith(["waiting"], -1, limit))).values()];
    },
    statesByIndex,
    async statesByNumber(numbers, knownPlace) {
      const found: { readonly to: string; readonly index: number }[] = [];
      const unknown: string[] = [];
      for (const to of numbers) {
        const index = knownPlace(to);
        if (index === undefined) unknown.push(rowId(rowSet, to));
        else found.push({ to, index });
      }
      if (unknown.length > 0) {
        const places = { ...options, projection: { _id: 0, index: 1, to: 1 } };
        found.push(...(await rows.find({ _id: { $in: unknown } }, places).toArray()));
      }
      return new Map((await statesOf(found)).map(([{ to }, state]) => [to, state]));
    },
    async page({ statuses, afterIndex, limit }) {
      if (statuses.length > 0) return byIndex(await placesWith(statuses, afterIndex, limit));
      const places = { campaign_id: rowSet, index: { $gt: afterIndex } };
      return withStates(await rows.find(places, options).sort({ index: 1 }).limit(limit).toArray());
    },
    async insert(added) {
      if (added.length === 0) return;
      await rows.insertMany(added.map(fromRow), inTransaction);
      await writeStates(added);
    },
    async save(changes) {
      if (changes.length > 0) await writeStates(changes.map(({ after }) => after));
    },
  };
}
