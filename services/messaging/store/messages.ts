import type { ClientSession, Collection, Db, Filter, MongoClient } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES, OPEN_STATUSES } from "../../shared/core/message-status.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { OutboxTicket } from "../../shared/io/outbox.ts";
import { SNAPSHOT } from "../../shared/io/snapshot.ts";
import type { CausedEvent, DueMessage, MessageStore } from "../app/ports.ts";
import { MESSAGE_MODES } from "../domain/message.ts";
import type { MessageCharge } from "../domain/message-invariants.ts";
import { countChanged } from "../domain/usage.ts";
import { replaceAll } from "./bulk-writes.ts";
import { OF_CHARGES, type Stored, toCharge } from "./charges.ts";
import {
  fromDocument,
  type MessageDocument,
  nextDocument,
  readClass,
  SEARCH,
} from "./documents.ts";
import { INDEXES } from "./schema.ts";
import { insertRecords } from "./sends.ts";
import { appendUsage } from "./usage.ts";

const DELETE_MAX = 2000;
/** By default MongoDB returns 101 documents first, and more cost another round trip. */
const BATCH_MAX = 1000;
const DUE_FIELDS = { tenant_id: 1, from: 1, to: 1, status: 1, traffic_class: 1 } as const;

/** Writes events inside the transaction of their change and publishes them after its commit. */
export type EventOutbox = {
  write(events: readonly CausedEvent[], session: ClientSession): Promise<OutboxTicket | undefined>;
  publish(ticket: OutboxTicket | undefined): void;
};

/** The messages of one database; their events leave through the outbox. */
export function createMessageStore(
  client: MongoClient,
  db: Db,
  outbox: EventOutbox,
  audit: Pick<AuditLog, "write">,
): MessageStore {
  const messages: Collection<MessageDocument> = db.collection("messages");

  async function charges(filter: Filter<MessageDocument>, limit: number): Promise<MessageCharge[]> {
    const documents = await guardMongo(
      messages
        .find(filter, { readConcern: SNAPSHOT })
        .project<Stored<typeof OF_CHARGES>>(OF_CHARGES)
        .sort({ _id: 1 })
        .limit(limit)
        .batchSize(limit)
        .toArray(),
    );
    return documents.map(toCharge);
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

  return {
    async find(id) {
      const document = await guardMongo(messages.findOne({ _id: id }));
      return document === null ? undefined : fromDocument(document);
    },
    findCharges: (ids) =>
      ids.length === 0 ? Promise.resolve([]) : charges({ _id: { $in: [...ids] } }, ids.length),
    findReserved(tenantId, reservationId, { firstId, lastId }, { limit, omitWaiting = false }) {
      const ofHold = { tenant_id: tenantId, reservation_id: reservationId };
      const filter = { _id: { $gte: firstId, $lte: lastId }, ...ofHold };
      return charges(
        omitWaiting ? { ...filter, status: { $nin: [...OPEN_STATUSES] } } : filter,
        limit,
      );
    },
    async change(ids, decide, nowMs) {
      let recordCount = 0;
      try {
        const ticket = await runTransaction(client, async (session) => {
          const stored = await messages
            .find(
              { _id: { $in: [...ids] } },
              { session, batchSize: BATCH_MAX, promoteLongs: false },
            )
            .toArray();
          const { changes, events, records, audits = [] } = decide(stored.map(fromDocument));
          recordCount = records.length;
          const byId = new Map(stored.map((document) => [document._id, document]));
          const next = changes.flatMap(({ before, after }) => {
            const document = byId.get(before.id);
            return document === undefined ? [] : [nextDocument(document, before, after)];
          });
          await insertRecords(db, records, nowMs, session);
          await replaceAll(db, "messages", next, session);
          await appendUsage(db, countChanged(changes), nowMs, session);
          for (const { change, source } of audits) await audit.write(change, session, source);
          return outbox.write(events, session);
        });
        outbox.publish(ticket);
        return undefined;
      } catch (error) {
        if (isDuplicateKey(error) && error.index < recordCount) return error.index;
        throw error;
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
      return due.map(toDue);
    },
    async findQuiet(nowMs, limit) {
      const found: DueMessage[] = [];
      // The quiet hours of a whole country end at one instant, so there are few instants. The cost is one seek for each
      // instant, and one for each tenant with messages of that instant.
      const ended = { quiet_until: { $lte: new Date(nowMs) } };
      for (const quiet_until of await guardMongo(messages.distinct("quiet_until", ended))) {
        if (quiet_until === undefined) continue;
        const tenants = await guardMongo(messages.distinct("tenant_id", { quiet_until }));
        const share = Math.ceil((limit - found.length) / tenants.length);
        for (const tenant_id of tenants) {
          if (found.length >= limit) return found;
          const some = messages
            .find({ quiet_until, tenant_id }, { projection: DUE_FIELDS, readConcern: SNAPSHOT })
            .sort({ _id: 1 })
            .limit(share)
            .batchSize(share)
            .hint(INDEXES.quiet);
          found.push(...(await guardMongo(some.toArray())).map(toDue));
        }
      }
      return found;
    },
    async endQuietAt(nowMs) {
      const at = new Date(nowMs);
      const update = { $set: { quiet_until: at }, $inc: { revision: 1 } };
      await guardMongo(messages.updateMany({ quiet_until: { $gt: at } }, update));
    },
    countQuiet: (max) =>
      guardMongo(
        messages.countDocuments(
          { quiet_until: { $exists: true } },
          { hint: INDEXES.quiet, limit: max },
        ),
      ),
    findCampaign: (tenantId, campaignId, { afterId, statuses }, limit) =>
      ids(
        {
          tenant_id: tenantId,
          mode: { $in: [...MESSAGE_MODES] },
          search: SEARCH.campaign(campaignId),
          // With every value listed, the index returns ids in order and a page reads no more than its size.
          source: { $in: [...MESSAGE_SOURCES] },
          status: { $in: [...(statuses ?? MESSAGE_STATUSES)] },
          _id: { $gt: afterId },
        },
        { _id: 1 },
        limit,
        INDEXES.bySearch,
      ),
    async deleteBefore(beforeMs) {
      const old = await guardMongo(
        messages
          .find({ _id: { $lt: lowestIdAt("message", beforeMs) } }, { projection: { _id: 1 } })
          .sort({ _id: 1 })
          .limit(DELETE_MAX)
          .toArray(),
      );
      if (old.length === 0) return 0;
      const last = old.at(-1)?._id as string;
      return (await guardMongo(messages.deleteMany({ _id: { $lte: last } }))).deletedCount;
    },
    async deleteTestBefore(beforeMs) {
      let deleted = 0;
      // One seek per tenant, instead of an index that every other message would pay for.
      const inTest = { tenant_id: { $gt: "" }, mode: "test" } as const;
      for (const tenant_id of await guardMongo(messages.distinct("tenant_id", inTest))) {
        const old = {
          tenant_id,
          mode: "test" as const,
          source: { $in: [...MESSAGE_SOURCES] },
          status: { $in: [...MESSAGE_STATUSES] },
          _id: { $lt: lowestIdAt("message", beforeMs) },
          // The id has the time of creation; a message scheduled for later may only just be final.
          completed_at: { $lt: new Date(beforeMs) },
        };
        const some = await ids(old, {}, DELETE_MAX, INDEXES.byKind);
        if (some.length === 0) continue;
        deleted += (await guardMongo(messages.deleteMany({ _id: { $in: some } }))).deletedCount;
      }
      return deleted;
    },
  };
}

type StoredDue = Pick<MessageDocument, "_id" | keyof typeof DUE_FIELDS>;

function toDue(document: StoredDue): DueMessage {
  const { _id: id, tenant_id: tenantId, from, to, status } = document;
  return { id, tenantId, from, to, status, trafficClass: readClass(document) };
}
