import type { Db, MongoClient } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { saveKeyedAnswer } from "../../shared/io/keyed-answers.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { Outbox, OutboxTicket } from "../../shared/io/outbox.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { Reviewed, SenderIdStore } from "../app/sender-ids.ts";
import { nameKey, type SenderId, type SenderIdStatus } from "../domain/sender-id.ts";

type SenderIdDocument = {
  _id: string;
  tenant_id: string;
  name: string;
  name_key: string;
  status: SenderIdStatus;
  rejection_reason: string;
  /** Absent for the class `transactional`. */
  traffic_class?: SenderId["trafficClass"];
  /** Absent when an operator registered the name. */
  use_case?: string;
  sample?: string;
  created_at: Date;
  updated_at: Date;
};

/** The MongoDB adapter of the storage port; `encodeEvent` encodes the event of a review. */
export function createSenderIdStore(options: {
  readonly client: MongoClient;
  readonly db: Db;
  readonly outbox: Outbox;
  readonly audit: AuditLog;
  readonly encodeEvent: (reviewed: Reviewed) => StreamItem;
  /** How long answers of idempotency keys are kept. */
  readonly keyTtlMs: number;
}): SenderIdStore {
  const { client, db, outbox, audit, encodeEvent, keyTtlMs } = options;
  const tenants = db.collection<{ _id: string; requests: number }>("tenants");
  const collection = db.collection<SenderIdDocument>("sender_ids");

  return {
    async insert(senderId) {
      try {
        await runTransaction(client, async (session) => {
          await collection.insertOne(fromSenderId(senderId), { session });
          const { id: subject, tenantId } = senderId;
          await audit.write({ tenantId, subject, before: undefined, after: senderId }, session);
        });
      } catch (error) {
        if (isDuplicateKey(error)) {
          throw new AppError("already_exists", "The tenant has a sender ID of that name.");
        }
        throw wrapMongoError(error);
      }
    },
    request: ({ tenantId, key }, decide, answerOf) =>
      runTransaction(client, async (session) => {
        // This write conflicts with other requests of the tenant, so that the counts below are right.
        const counted = { $inc: { requests: 1 } };
        await tenants.updateOne({ _id: tenantId }, counted, { session, upsert: true });
        const own = { tenant_id: tenantId };
        const old = await collection.findOne({ ...own, name_key: key }, { session });
        const all = await collection.countDocuments(own, { session });
        const waiting = { ...own, status: "pending" } as const;
        const pending = await collection.countDocuments(waiting, { session });
        const before = old === null ? undefined : toSenderId(old);
        const after = decide(before, { all, pending });
        const { _id, ...fields } = fromSenderId(after);
        if (before === undefined) await collection.insertOne({ _id, ...fields }, { session });
        else await collection.updateOne({ _id }, { $set: fields }, { session });
        await audit.write({ tenantId, subject: _id, before, after }, session);
        const answer = answerOf(after);
        if (answer !== undefined) await saveKeyedAnswer(db, answer, keyTtlMs, session);
      }),
    async find(id) {
      const document = await guardMongo(collection.findOne({ _id: id }));
      return document === null ? undefined : toSenderId(document);
    },
    async findByNames(names) {
      const tenantIds = new Set(names.map(({ tenantId }) => tenantId));
      const keys = new Set(names.map(({ key }) => key));
      // The filter matches every name under every tenant, which is far cheaper than a branch per
      // pair.
      const filter = { tenant_id: { $in: [...tenantIds] }, name_key: { $in: [...keys] } };
      return (await guardMongo(collection.find(filter).toArray())).map(toSenderId);
    },
    async list(tenantId, filter) {
      const documents = await guardMongo(
        collection
          .find({
            tenant_id: tenantId,
            name_key:
              filter.nameKey === ""
                ? { $gt: filter.afterKey }
                : { $eq: filter.nameKey, $gt: filter.afterKey },
            ...(filter.statuses.length === 0 ? {} : { status: { $in: [...filter.statuses] } }),
          })
          .sort({ name_key: 1 })
          .limit(filter.limit)
          .toArray(),
      );
      return documents.map(toSenderId);
    },
    async listAll(statuses, limit, afterId) {
      const wanted = statuses.length === 0 ? {} : { status: { $in: [...statuses] } };
      const found = collection
        .find({ ...wanted, _id: { $gt: afterId } })
        .sort({ _id: 1 })
        .limit(limit);
      return (await guardMongo(found.toArray())).map(toSenderId);
    },
    async saveReview(reviewed, from) {
      const item = encodeEvent(reviewed);
      let ticket: OutboxTicket | undefined;
      const isSaved = await runTransaction(client, async (session) => {
        const { _id, ...fields } = fromSenderId(reviewed.senderId);
        const old = await collection.findOneAndUpdate(
          { _id, status: from },
          { $set: fields },
          { session },
        );
        if (old === null) return false;
        const { tenantId } = reviewed.senderId;
        const [before, after] = [toSenderId(old), reviewed.senderId];
        await audit.write({ tenantId, subject: _id, before, after }, session);
        ticket = await outbox.write([item], session);
        return true;
      });
      if (isSaved) outbox.publish(ticket);
      return isSaved;
    },
  };
}

function fromSenderId(senderId: SenderId): SenderIdDocument {
  return {
    _id: senderId.id,
    tenant_id: senderId.tenantId,
    name: senderId.name,
    name_key: nameKey(senderId.name),
    status: senderId.status,
    rejection_reason: senderId.rejectionReason,
    traffic_class: senderId.trafficClass,
    ...(senderId.useCase === "" ? {} : { use_case: senderId.useCase, sample: senderId.sample }),
    created_at: new Date(senderId.createdAtMs),
    updated_at: new Date(senderId.updatedAtMs),
  };
}

function toSenderId(document: SenderIdDocument): SenderId {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    name: document.name,
    status: document.status,
    rejectionReason: document.rejection_reason,
    trafficClass: document.traffic_class ?? "transactional",
    useCase: document.use_case ?? "",
    sample: document.sample ?? "",
    createdAtMs: document.created_at.getTime(),
    updatedAtMs: document.updated_at.getTime(),
  };
}
