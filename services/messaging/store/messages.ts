import type { ClientSession, Collection, Db, MongoClient } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES } from "../../shared/core/message-status.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { Outbox } from "../../shared/io/outbox.ts";
import { SNAPSHOT } from "../../shared/io/snapshot.ts";
import type { ChangeSet, MessageStore } from "../app/ports.ts";
import { MESSAGE_MODES, type Message } from "../domain/message.ts";
import { replaceAll, StaleCacheError } from "./bulk-writes.ts";
import { fromDocument, type MessageDocument, nextDocument, SEARCH } from "./documents.ts";
import { INDEXES } from "./schema.ts";
import { insertRecords } from "./sends.ts";
import type { WriteCache } from "./write-cache.ts";

const DELETE_MAX = 2000;
/** MongoDB answers 101 documents at first unless told; asking again costs a round trip. */
const BATCH_MAX = 1000;
const DUE_FIELDS = { tenant_id: 1, from: 1, status: 1 } as const;
/** Statuses in which something is soon to come. */
const UNDER_WAY: ReadonlySet<string> = new Set(["queued", "sent"]);

type Documents = ReadonlyMap<string, MessageDocument>;

/** Makes the store over one database; saved events go out through its outbox. */
export function createMessageStore(
  client: MongoClient,
  db: Db,
  outbox: Outbox,
  remembered: WriteCache,
): MessageStore {
  const messages: Collection<MessageDocument> = db.collection("messages");

  async function many(
    filter: Parameters<typeof messages.find>[0],
    limit: number,
  ): Promise<Message[]> {
    const documents = await guardMongo(
      messages
        .find(filter ?? {}, { readConcern: SNAPSHOT })
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
    const found = await guardMongo(
      messages
        .find(filter ?? {}, { projection: { _id: 1 }, readConcern: SNAPSHOT })
        .sort(sort)
        .limit(limit)
        .batchSize(limit)
        .hint(hint)
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }

  async function changeAll(
    ids: readonly string[],
    believed: Documents,
    decide: (loaded: readonly Message[]) => ChangeSet,
    nowMs: number,
  ): Promise<void> {
    let written: readonly MessageDocument[] = [];
    const ticket = await runTransaction(client, async (session) => {
      const { set, stored, unread } = await decideOn(ids, believed, decide, session);
      written = set.changes.flatMap(({ before, after }) => {
        const document = stored.get(before.id);
        return document === undefined ? [] : [nextDocument(document, before, after)];
      });
      await insertRecords(db, set.records, nowMs, session);
      await replaceAll(db, "messages", written, unread, session);
      return outbox.write(set.events, session);
    });
    outbox.publish(ticket);
    remembered.note(written.filter(({ status }) => UNDER_WAY.has(status)));
  }

  /**
   * Decides about messages as they are remembered, and as they are read where they are not. A
   * decision to leave a message as it is writes nothing that could prove it, so it needs a message
   * that was read. Answers what was decided on, and what of it is only believed.
   */
  async function decideOn(
    ids: readonly string[],
    believed: Documents,
    decide: (loaded: readonly Message[]) => ChangeSet,
    session: ClientSession,
  ) {
    const stored = new Map<string, MessageDocument>();
    const unread = new Map(believed);
    for (;;) {
      const missing = ids.filter((id) => !unread.has(id) && !stored.has(id));
      for (const document of await read(missing, session)) stored.set(document._id, document);
      const all = new Map([...unread, ...stored]);
      const set = decide([...all.values()].map(fromDocument));
      const changed = new Set(set.changes.map(({ before }) => before.id));
      const unproved = [...unread.keys()].filter((id) => !changed.has(id));
      if (unproved.length === 0) return { set, stored: all, unread };
      for (const id of unproved) unread.delete(id);
    }
  }

  async function read(ids: readonly string[], session: ClientSession): Promise<MessageDocument[]> {
    if (ids.length === 0) return [];
    return messages
      .find({ _id: { $in: [...ids] } }, { session, batchSize: BATCH_MAX, promoteLongs: false })
      .toArray();
  }

  return {
    async find(id) {
      const document = await guardMongo(messages.findOne({ _id: id }));
      return document === null ? undefined : fromDocument(document);
    },
    findReserved(tenantId, reservationId, { firstId, lastId }, limit) {
      const range = { _id: { $gte: firstId, $lte: lastId } };
      return many({ ...range, tenant_id: tenantId, reservation_id: reservationId }, limit);
    },
    async change(ids, decide, nowMs) {
      const believed = remembered.take(ids);
      try {
        await changeAll(ids, believed, decide, nowMs);
      } catch (error) {
        if (!(error instanceof StaleCacheError)) throw error;
        remembered.distrust();
        await changeAll(ids, new Map(), decide, nowMs);
      }
    },
    async findDue(nowMs, limit, statuses) {
      const due = await guardMongo(
        messages
          .find(
            {
              due_at: { $lte: new Date(nowMs) },
              ...(statuses === undefined ? {} : { status: { $in: [...statuses] } }),
            },
            { projection: DUE_FIELDS, readConcern: SNAPSHOT },
          )
          .sort({ due_at: 1 })
          .limit(limit)
          .batchSize(limit)
          .hint(INDEXES.due)
          .toArray(),
      );
      return due.map(({ _id, tenant_id, from, status }) => ({
        id: _id,
        tenantId: tenant_id,
        from,
        status,
      }));
    },
    findCampaign: (tenantId, campaignId, afterId, limit) =>
      ids(
        {
          tenant_id: tenantId,
          mode: { $in: [...MESSAGE_MODES] },
          search: SEARCH.campaign(campaignId),
          // Every value named: only so the index answers in order of id, and a page reads no more than it.
          source: { $in: [...MESSAGE_SOURCES] },
          status: { $in: [...MESSAGE_STATUSES] },
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
