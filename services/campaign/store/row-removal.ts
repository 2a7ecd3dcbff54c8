/**
 * Removes rows that no call reads any more, some at a time: discarded sets of rows, and the rows and chunks of hidden
 * campaigns and of campaigns that ended long ago. The document that names the rows is deleted last, so a removal that
 * stops at any point continues later.
 */
import type { Collection, Db } from "mongodb";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import { type ChunkDocument, chunksOf } from "./chunk-documents.ts";
import { INDEXES } from "./collections.ts";
import { type CampaignDocument, type RowDocument, rowSetOf } from "./documents.ts";
import type { RowStatesDocument } from "./row-states.ts";

/** Rows that one step deletes. */
const STEP = 5000;

/** Removes one step; true when more may be left. */
export function createRowRemoval(db: Db): (endedBeforeMs: number) => Promise<boolean> {
  const campaigns: Collection<CampaignDocument> = db.collection("campaigns");
  const rows: Collection<RowDocument> = db.collection("rows");
  const states: Collection<RowStatesDocument> = db.collection("row_states");
  const chunks: Collection<ChunkDocument> = db.collection("chunks");
  const discarded: Collection<{ _id: string }> = db.collection("discarded_row_sets");

  /** Deletes some rows of a set; false when it has none. */
  async function removeRows(rowSet: string): Promise<boolean> {
    const some = await guardMongo(
      rows
        .find({ campaign_id: rowSet }, { projection: { _id: 1 } })
        .hint(INDEXES.byIndex)
        .limit(STEP)
        .toArray(),
    );
    if (some.length === 0) {
      // A row without a state is none to any reader, so the states go last.
      await guardMongo(states.deleteMany({ campaign_id: rowSet }));
      return false;
    }
    await guardMongo(rows.deleteMany({ _id: { $in: some.map(({ _id }) => _id) } }));
    return true;
  }

  async function removeDiscarded(): Promise<boolean> {
    const set = await guardMongo(discarded.findOne());
    if (set === null) return false;
    if (!(await removeRows(set._id))) await guardMongo(discarded.deleteOne({ _id: set._id }));
    return true;
  }

  async function removeOfCampaign(endedBeforeMs: number): Promise<boolean> {
    const ended = { work: "ended" as const, ended_at: { $lte: new Date(endedBeforeMs) } };
    const found = campaigns.findOne(
      { $or: [{ work: "hidden" }, ended] },
      { projection: { work: 1, row_set: 1 } },
    );
    const old = await guardMongo(found);
    if (old === null) return false;
    if (await removeRows(rowSetOf(old))) return true;
    await guardMongo(chunks.deleteMany(chunksOf(old._id)));
    if (old.work === "hidden") await guardMongo(campaigns.deleteOne({ _id: old._id }));
    else {
      const stillEnded = { _id: old._id, work: "ended" as const };
      await guardMongo(campaigns.updateOne(stillEnded, { $unset: { work: 1 } }));
    }
    return true;
  }

  return async (endedBeforeMs) => (await removeDiscarded()) || removeOfCampaign(endedBeforeMs);
}
