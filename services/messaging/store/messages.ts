import type { Collection, Db, MongoClient } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { runTransaction, wrapMongoError } from "../../shared/io/mongo.ts";
import type { Outbox } from "../../shared/io/outbox.ts";
import type { Message } from "../domain/message.ts";
import type { MessageStore } from "../service/ports.ts";
import { updateAll } from "./commands.ts";
import { fromDocument, type MessageDocument, SEARCH, toUpdate } from "./documents.ts";
import { insertRecords } from "./sends.ts";
import { INDEXES } from "./shape.ts";

const DELETE_MAX = 2000;
/** MongoDB answers 101 documents at first unless told; asking again costs a round trip. */
const BATCH_MAX = 1000;

/** Makes the store over one database; saved events go out through its outbox. */
export function createMessageStore(client: MongoClient, db: Db, outbox: Outbox): MessageStore {
  const messages: Collection<MessageDocument> = db.collection("messages");

  async function many(
    filter: Parameters<typeof messages.find>[0],
    limit: number,
  ): Promise<Message[]> {
    const documents = await guarded(() =>
      messages
        .find(filter ?? {})
        .sort({ _id: 1 })
        .limit(limit)
        .batchSize(limit)
        .toArray(),
    );
    return documents.map(fromDocument);
  }

  async function ids(
    filter: Parameters<typeof messages.find>[0],
    sort: Record<string, 1>,
    limit: number,
    hint: string,
  ): Promise<string[]> {
    const found = await guarded(() =>
      messages
        .find(filter ?? {}, { projection: { _id: 1 } })
        .sort(sort)
        .limit(limit)
        .batchSize(limit)
        .hint(hint)
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }

  return {
    async load(wanted) {
      // The guard of each write decides; a read that is still to be replicated costs a retry.
      const documents = await guarded(() =>
        messages
          .find(
            { _id: { $in: [...wanted] } },
            { readConcern: { level: "local" }, batchSize: BATCH_MAX },
          )
          .toArray(),
      );
      return documents.map(fromDocument);
    },
    async find(id) {
      const document = await guarded(() => messages.findOne({ _id: id }));
      return document === null ? undefined : fromDocument(document);
    },
    findRange: (tenantId, firstId, lastId, limit) =>
      many({ _id: { $gte: firstId, $lte: lastId }, tenant_id: tenantId }, limit),
    async save({ changes, events, records }, nowMs) {
      const updates = changes.map(({ before, after }) => ({
        id: before.id,
        revision: before.revision,
        update: toUpdate(before, after),
      }));
      try {
        const ticket = await runTransaction(client, async (session) => {
          await insertRecords(db, records, nowMs, session);
          const found = await updateAll(db, "messages", updates, session);
          if (found !== updates.length) throw new MovedOn();
          return outbox.write(events, session);
        });
        outbox.publish(ticket);
        return true;
      } catch (error) {
        if (error instanceof MovedOn) return false;
        throw error;
      }
    },
    findDue: (nowMs, limit) =>
      ids({ due_at: { $lte: new Date(nowMs) } }, { due_at: 1 }, limit, INDEXES.due),
    findCampaign: (tenantId, campaignId, afterId, limit) =>
      ids(
        {
          tenant_id: tenantId,
          mode: { $in: ["live", "test"] },
          search: SEARCH.campaign(campaignId),
          _id: { $gt: afterId },
        },
        { _id: 1 },
        limit,
        INDEXES.bySearch,
      ),
    async deleteBefore(beforeMs) {
      const old = await messages
        .find({ _id: { $lt: lowestIdAt("message", beforeMs) } }, { projection: { _id: 1 } })
        .sort({ _id: 1 })
        .limit(DELETE_MAX)
        .toArray();
      if (old.length === 0) return 0;
      const last = old.at(-1)?._id as string;
      return (await messages.deleteMany({ _id: { $lte: last } })).deletedCount;
    },
  };
}

/** Thrown inside the transaction to abort it: a guarded update found no document. */
class MovedOn extends Error {}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw wrapMongoError(error);
  }
}
