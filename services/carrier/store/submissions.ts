import type { AnyBulkWriteOperation, Collection, Db } from "mongodb";
import { MongoBulkWriteError, ObjectId } from "mongodb";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { ParkedReceipt, SubmissionStore } from "../app/ports.ts";
import type { IncomingReceipt } from "../domain/message.ts";
import { type Submission, submissionName } from "../domain/submission.ts";

/** A submit: `m` is the message's id, `s` the segment. */
type SubmitFields = {
  m: string;
  s: number;
  /** The number of parts of the message. */
  n?: number;
  to: string;
  from: string;
  at: Date;
  /** True when the segment is a guess. */
  g?: boolean;
};
/** The newest submit with a carrier id, and the earlier ones with the same id (ADR 112). */
type SubmissionDocument = SubmitFields & {
  /** `<connector>|<canonical carrier id>` */
  _id: string;
  /** Oldest first; absent for an id that was used once. */
  o?: SubmitFields[];
};
type UnknownDocument = {
  /** `<message id>/<segment>` */
  _id: string;
  message_id: string;
  segment: number;
  parts?: number;
  connector_id: string;
  to: string;
  from: string;
  at: Date;
  /** When the first octets of its message could leave; some documents lack the field. */
  submitted_at?: Date;
  /** Whether the carrier accepted it without an id; true in documents without the field. */
  taken?: boolean;
  /** The carrier id that a receipt has assigned to it. */
  tied_to?: string;
};
type ParkedDocument = {
  _id: ObjectId;
  connector_id: string;
  names: string[];
  receipt: IncomingReceipt;
  at: Date;
  next_at: Date;
  /** The time from which the receipt may be matched by recipient and sender; some documents lack the field. */
  parties_at?: Date;
  /** The sweep that took the receipt last. */
  taken_by?: ObjectId;
};

/** How many earlier submits are kept of one carrier id: more than a day's for a carrier that repeats its ids. */
const PER_ID_MAX = 999;

/** Creates the store in MongoDB; the port explains the methods. */
export function createSubmissionStore(db: Db): SubmissionStore {
  const submissions: Collection<SubmissionDocument> = db.collection("submissions");
  const unknowns: Collection<UnknownDocument> = db.collection("unknown_submissions");
  const parked: Collection<ParkedDocument> = db.collection("parked_receipts");
  const unmatched: Collection<Omit<ParkedDocument, "next_at">> =
    db.collection("unmatched_receipts");

  return {
    async saveSubmissions(items) {
      if (items.length === 0) return;
      const documents = items.map(toSubmissionDocument);
      try {
        await submissions.insertMany(documents, { ordered: false });
      } catch (error) {
        if (!isDuplicateKey(error) || !(error instanceof MongoBulkWriteError)) {
          throw wrapMongoError(error);
        }
        // Add the submits whose id had a document already; all others were inserted.
        const again = [error.writeErrors].flat().flatMap(({ index }) => documents[index] ?? []);
        await guardMongo(submissions.bulkWrite(again.map(addToId), { ordered: true }));
      }
    },

    async findSubmissions(names) {
      if (names.length === 0) return new Map();
      const found = await guardMongo(submissions.find({ _id: { $in: [...names] } }).toArray());
      return new Map(found.map((document) => [document._id, fromDocument(document)]));
    },

    async listSubmissions(connectorId, sinceMs, max) {
      const query = {
        _id: { $gte: `${connectorId}|`, $lt: `${connectorId}|~` },
        at: { $gte: new Date(sinceMs) },
      };
      const found = await guardMongo(submissions.find(query).sort({ at: -1 }).limit(max).toArray());
      return found.flatMap(fromDocument);
    },

    async saveUnknowns(items) {
      if (items.length === 0) return;
      const writes: AnyBulkWriteOperation<UnknownDocument>[] = items.map((item) => ({
        updateOne: {
          filter: { _id: `${item.messageId}/${item.segment}` },
          update: {
            $setOnInsert: {
              message_id: item.messageId,
              segment: item.segment,
              ...(item.parts === undefined ? {} : { parts: item.parts }),
              connector_id: item.connectorId,
              to: item.to,
              from: item.from,
              ...(item.isTaken === true ? {} : { taken: false }),
            },
            // The newest time counts: a submit in doubt may be accepted later, and recovery puts it in doubt again.
            $max: { at: new Date(item.atMs) },
            ...(item.submittedAtMs === undefined
              ? {}
              : { $min: { submitted_at: new Date(item.submittedAtMs) } }),
            ...(item.isTaken === true ? { $set: { taken: true } } : {}),
          },
          upsert: true,
        },
      }));
      await guardMongo(unknowns.bulkWrite(writes, { ordered: false }));
    },

    async findUnknowns(query) {
      const { connectorId, to, from, inDoubtSinceMs, takenSinceMs, submittedUntilMs } = query;
      const inDoubt = { at: { $gte: new Date(inDoubtSinceMs) } };
      const taken = { taken: { $ne: false }, at: { $gte: new Date(takenSinceMs) } };
      const submitted_at = { $not: { $gt: new Date(submittedUntilMs) } };
      const filter = { connector_id: connectorId, to, from, submitted_at, $or: [inDoubt, taken] };
      return (await guardMongo(unknowns.find(filter).limit(300).toArray())).map((document) => ({
        connectorId,
        messageId: document.message_id,
        segment: document.segment,
        ...(document.parts === undefined ? {} : { parts: document.parts }),
        to,
        from,
        atMs: document.at.getTime(),
        isTaken: document.taken !== false,
        ...(document.tied_to === undefined ? {} : { assignedKey: document.tied_to }),
      }));
    },

    async assignKey({ messageId, segment }, key) {
      const filter = { _id: `${messageId}/${segment}`, tied_to: { $exists: false } };
      const result = await guardMongo(unknowns.updateOne(filter, { $set: { tied_to: key } }));
      return result.modifiedCount === 1;
    },

    async removeUnknowns(items) {
      if (items.length === 0) return;
      const ids = items.map(({ messageId, segment }) => `${messageId}/${segment}`);
      await guardMongo(unknowns.deleteMany({ _id: { $in: ids } }));
    },

    async park(receipts, nowMs, partiesAfterMs, waitMs = 0) {
      if (receipts.length === 0) return;
      const at = new Date(nowMs);
      const next_at = new Date(nowMs + waitMs);
      const documents = receipts.map((receipt) => ({
        connector_id: receipt.connectorId,
        names: receipt.keys.map((key) => submissionName(receipt.connectorId, key)),
        receipt,
        at,
        next_at,
        parties_at: new Date(nowMs + partiesAfterMs(receipt.connectorId)),
      }));
      await guardMongo(parked.insertMany(documents as never));
    },

    async findParked(names) {
      return toParked(
        await guardMongo(
          parked
            .find({ names: { $in: [...names] } })
            .limit(1000)
            .toArray(),
        ),
      );
    },

    /**
     * The next retry comes after half the age of the receipt, from one second to two minutes, but not after
     * `parties_at`. `taken_by` decides between two processes that take the same receipts.
     */
    async takeDueParked(nowMs, max) {
      const due = { next_at: { $lte: new Date(nowMs) } };
      const documents = await guardMongo(
        parked.find(due).sort({ next_at: 1 }).limit(max).toArray(),
      );
      if (documents.length === 0) return [];
      const ids = documents.map(({ _id }) => _id);
      const now = new Date(nowMs);
      const halfAge = { $divide: [{ $subtract: [now, "$at"] }, 2] };
      const wait = { $max: [1000, { $min: [120_000, halfAge] }] };
      const taken_by = new ObjectId();
      const later = { $add: [now, wait] };
      const first = { $min: [later, "$parties_at"] };
      const next_at = { $cond: [{ $gt: ["$parties_at", now] }, first, later] };
      const next = [{ $set: { next_at, taken_by } }];
      const { modifiedCount } = await guardMongo(
        parked.updateMany({ _id: { $in: ids }, ...due }, next),
      );
      if (modifiedCount === ids.length) return toParked(documents);
      return toParked(await guardMongo(parked.find({ _id: { $in: ids }, taken_by }).toArray()));
    },

    async removeParked(ids) {
      if (ids.length > 0) await guardMongo(parked.deleteMany({ _id: { $in: toObjectIds(ids) } }));
    },

    async giveUpParked(receipts) {
      if (receipts.length === 0) return;
      const writes = receipts.map(({ id, receipt, parkedAtMs }) => ({
        replaceOne: {
          filter: { _id: new ObjectId(id) },
          replacement: {
            connector_id: receipt.connectorId,
            names: receipt.keys.map((key) => submissionName(receipt.connectorId, key)),
            receipt,
            at: new Date(parkedAtMs),
          },
          upsert: true,
        },
      }));
      await guardMongo(unmatched.bulkWrite(writes, { ordered: false }));
      const ids = toObjectIds(receipts.map(({ id }) => id));
      await guardMongo(parked.deleteMany({ _id: { $in: ids } }));
    },

    countParked: () => guardMongo(parked.estimatedDocumentCount()),

    async listUnmatched(max) {
      const documents = await guardMongo(unmatched.find().sort({ at: -1 }).limit(max).toArray());
      return documents.map(({ receipt, at }) => ({ receipt, receivedAtMs: at.getTime() }));
    },
  };
}

function toSubmissionDocument(item: Submission): SubmissionDocument {
  return {
    _id: submissionName(item.connectorId, item.key),
    m: item.messageId,
    s: item.segment,
    ...(item.parts === undefined ? {} : { n: item.parts }),
    to: item.to,
    from: item.from,
    at: new Date(item.atMs),
    ...(item.isSegmentGuessed === true ? { g: true } : {}),
  };
}

function fromDocument(document: SubmissionDocument): Submission[] {
  const bar = document._id.indexOf("|");
  const connectorId = document._id.slice(0, bar);
  const key = document._id.slice(bar + 1);
  return [...(document.o ?? []), document].map((one) => ({
    connectorId,
    key,
    messageId: one.m,
    segment: one.s,
    ...(one.n === undefined ? {} : { parts: one.n }),
    to: one.to,
    from: one.from,
    atMs: one.at.getTime(),
    ...(one.g === true ? { isSegmentGuessed: true } : {}),
  }));
}

/**
 * Makes a submit the newest one of its id and keeps the others. One atomic update, so that processes which use an
 * id at once lose none. A repeated write changes nothing: a submit replaces its own earlier entry.
 */
function addToId(document: SubmissionDocument): AnyBulkWriteOperation<SubmissionDocument> {
  const { _id, m, s, ...rest } = document;
  const newest = { m: "$m", s: "$s", n: "$n", to: "$to", from: "$from", at: "$at", g: "$g" };
  const known = { $concatArrays: [{ $ifNull: ["$o", []] }, [newest]] };
  const isOther = { $or: [{ $ne: ["$$one.m", m] }, { $ne: ["$$one.s", s] }] };
  // The document may have expired since the insert failed; then the update inserts it and `$m` is missing.
  const cond = { $and: [{ $gt: ["$$one.m", null] }, isOther] };
  const o = { $slice: [{ $filter: { input: known, as: "one", cond } }, -PER_ID_MAX] };
  const fields = Object.entries({ m, s, ...rest }).map(([name, value]) => [
    name,
    { $literal: value },
  ]);
  const replacement = { _id: "$_id", ...Object.fromEntries(fields), o };
  return { updateOne: { filter: { _id }, update: [{ $replaceWith: replacement }], upsert: true } };
}

function toParked(documents: readonly ParkedDocument[]): ParkedReceipt[] {
  return documents.map(({ _id, receipt, at }) => ({
    id: _id.toHexString(),
    receipt,
    parkedAtMs: at.getTime(),
  }));
}

function toObjectIds(ids: readonly string[]): ObjectId[] {
  return ids.map((id) => new ObjectId(id));
}
