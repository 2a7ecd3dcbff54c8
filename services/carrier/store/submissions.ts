import type { AnyBulkWriteOperation, Collection, Db } from "mongodb";
import { MongoBulkWriteError, ObjectId } from "mongodb";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { IncomingReceipt } from "../domain/message.ts";
import {
  type Submission,
  submissionName,
  type UnknownCandidate,
  type UnknownSubmission,
} from "../domain/submission.ts";

type SubmissionDocument = {
  /** `<connector>|<canonical carrier id>` */
  _id: string;
  m: string;
  s: number;
  /** In how many parts the message travels. */
  n?: number;
  to: string;
  from: string;
  at: Date;
  /** True when the segment is a guess. */
  g?: boolean;
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
  /** Whether the carrier took it, without an id; an earlier version did not say. */
  taken?: boolean;
  /** The carrier id that a receipt has tied to it. */
  tied_to?: string;
};
type ParkedDocument = {
  _id: ObjectId;
  connector_id: string;
  names: string[];
  receipt: IncomingReceipt;
  at: Date;
  next_at: Date;
  /** From when on its parties may tell whose it is; an earlier version did not say. */
  parties_at?: Date;
  /** Who looked at it last. */
  taken_by?: ObjectId;
};

/** A receipt that waits for its message. */
export type ParkedReceipt = {
  readonly id: ObjectId;
  readonly receipt: IncomingReceipt;
  readonly parkedAtMs: number;
};

/** A parked receipt that was given up on, for operators. */
export type UnmatchedReceipt = {
  readonly receipt: IncomingReceipt;
  readonly receivedAtMs: number;
};

/** What a carrier process remembers: submits, and receipts that found no message yet. */
export type CarrierStore = ReturnType<typeof createCarrierStore>;

/** Makes the MongoDB store of the carrier. */
export function createCarrierStore(db: Db) {
  const submissions: Collection<SubmissionDocument> = db.collection("submissions");
  const unknowns: Collection<UnknownDocument> = db.collection("unknown_submissions");
  const parked: Collection<ParkedDocument> = db.collection("parked_receipts");
  const unmatched: Collection<Omit<ParkedDocument, "next_at">> =
    db.collection("unmatched_receipts");

  return {
    /** Keeps submissions; an id that a carrier uses a second time stands for the newer one. */
    async saveSubmissions(items: readonly Submission[]): Promise<void> {
      if (items.length === 0) return;
      const documents = items.map(toSubmissionDocument);
      try {
        await submissions.insertMany(documents, { ordered: false });
      } catch (error) {
        if (!isDuplicateKey(error) || !(error instanceof MongoBulkWriteError)) {
          throw wrapMongoError(error);
        }
        // Of what was there already the newest stands; all others were inserted.
        const known = new Set([error.writeErrors].flat().map(({ index }) => documents[index]?._id));
        const again = documents.filter(({ _id }) => known.has(_id));
        await guardMongo(submissions.bulkWrite(replaceAll(again), { ordered: true }));
      }
    },

    /** Finds submissions by their names. */
    async findSubmissions(names: readonly string[]): Promise<Map<string, Submission>> {
      if (names.length === 0) return new Map();
      const found = await guardMongo(submissions.find({ _id: { $in: [...names] } }).toArray());
      return new Map(found.map((document) => [document._id, fromSubmissionDocument(document)]));
    },

    /** A connector's newest submissions since an instant; for the test connector's restart. */
    async listSubmissions(
      connectorId: string,
      sinceMs: number,
      max: number,
    ): Promise<Submission[]> {
      const query = {
        _id: { $gte: `${connectorId}|`, $lt: `${connectorId}|~` },
        at: { $gte: new Date(sinceMs) },
      };
      const found = await guardMongo(submissions.find(query).sort({ at: -1 }).limit(max).toArray());
      return found.map(fromSubmissionDocument);
    },

    /** Keeps submits without an answer, so that a receipt can find them by their parties. */
    async saveUnknowns(items: readonly UnknownSubmission[]): Promise<void> {
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
            // The newest word of it counts: it was in doubt, and then taken after all; or is in doubt only now.
            $max: { at: new Date(item.atMs) },
            ...(item.isTaken === true ? { $set: { taken: true } } : {}),
          },
          upsert: true,
        },
      }));
      await guardMongo(unknowns.bulkWrite(writes, { ordered: false }));
    },

    /**
     * Submits without an id from one sender to one recipient: in doubt since an instant, or taken since
     * another.
     */
    async findUnknowns(query: {
      readonly connectorId: string;
      readonly to: string;
      readonly from: string;
      readonly inDoubtSinceMs: number;
      readonly takenSinceMs: number;
    }): Promise<UnknownCandidate[]> {
      const { connectorId, to, from, inDoubtSinceMs, takenSinceMs } = query;
      const inDoubt = { at: { $gte: new Date(inDoubtSinceMs) } };
      const taken = { taken: { $ne: false }, at: { $gte: new Date(takenSinceMs) } };
      const filter = { connector_id: connectorId, to, from, $or: [inDoubt, taken] };
      return (await guardMongo(unknowns.find(filter).limit(300).toArray())).map((document) => ({
        connectorId,
        messageId: document.message_id,
        segment: document.segment,
        ...(document.parts === undefined ? {} : { parts: document.parts }),
        to,
        from,
        atMs: document.at.getTime(),
        isTaken: document.taken !== false,
        ...(document.tied_to === undefined ? {} : { tiedTo: document.tied_to }),
      }));
    },

    /** Ties a carrier id to a submit in doubt; false when another id was quicker, or it is gone. */
    async tieUnknown({ messageId, segment }: UnknownSubmission, key: string): Promise<boolean> {
      const filter = { _id: `${messageId}/${segment}`, tied_to: { $exists: false } };
      const result = await guardMongo(unknowns.updateOne(filter, { $set: { tied_to: key } }));
      return result.modifiedCount === 1;
    },

    async removeUnknowns(items: readonly UnknownSubmission[]): Promise<void> {
      if (items.length === 0) return;
      const ids = items.map(({ messageId, segment }) => `${messageId}/${segment}`);
      await guardMongo(unknowns.deleteMany({ _id: { $in: ids } }));
    },

    /**
     * Parks receipts; they may be acknowledged to the carrier when this has answered. One is looked at as soon
     * as its parties may tell whose it is: `partiesAfterMs` after it came.
     */
    async park(
      receipts: readonly IncomingReceipt[],
      nowMs: number,
      partiesAfterMs: (connectorId: string) => number,
    ): Promise<void> {
      if (receipts.length === 0) return;
      const at = new Date(nowMs);
      const documents = receipts.map((receipt) => ({
        connector_id: receipt.connectorId,
        names: receipt.keys.map((key) => submissionName(receipt.connectorId, key)),
        receipt,
        at,
        next_at: at,
        parties_at: new Date(nowMs + partiesAfterMs(receipt.connectorId)),
      }));
      await guardMongo(parked.insertMany(documents as never));
    },

    /** Parked receipts that may belong to submissions just stored. */
    async findParked(names: readonly string[]): Promise<ParkedReceipt[]> {
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
     * Takes parked receipts that are due for another look, and puts their next look off: by half
     * their age, from one second to two minutes, but not past the moment when their parties may tell. Each is
     * taken by one process: two that looked at a receipt without an id together would take it for two parts of
     * its message.
     */
    async takeDueParked(nowMs: number, max: number): Promise<ParkedReceipt[]> {
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

    async removeParked(ids: readonly ObjectId[]): Promise<void> {
      if (ids.length > 0) await guardMongo(parked.deleteMany({ _id: { $in: [...ids] } }));
    },

    /** Gives up on parked receipts: they are kept for operators, then forgotten. */
    async giveUpParked(receipts: readonly ParkedReceipt[]): Promise<void> {
      if (receipts.length === 0) return;
      const writes = receipts.map(({ id, receipt, parkedAtMs }) => ({
        replaceOne: {
          filter: { _id: id },
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
      await guardMongo(parked.deleteMany({ _id: { $in: receipts.map(({ id }) => id) } }));
    },

    async countParked(): Promise<number> {
      return await guardMongo(parked.estimatedDocumentCount());
    },

    /** The newest unmatched receipts, for operators. */
    async listUnmatched(max: number): Promise<UnmatchedReceipt[]> {
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

function fromSubmissionDocument(document: SubmissionDocument): Submission {
  const bar = document._id.indexOf("|");
  return {
    connectorId: document._id.slice(0, bar),
    key: document._id.slice(bar + 1),
    messageId: document.m,
    segment: document.s,
    ...(document.n === undefined ? {} : { parts: document.n }),
    to: document.to,
    from: document.from,
    atMs: document.at.getTime(),
    ...(document.g === true ? { isSegmentGuessed: true } : {}),
  };
}

function replaceAll(
  documents: readonly SubmissionDocument[],
): AnyBulkWriteOperation<SubmissionDocument>[] {
  return documents.map(({ _id, ...replacement }) => ({
    replaceOne: { filter: { _id }, replacement, upsert: true },
  }));
}

function toParked(documents: readonly ParkedDocument[]): ParkedReceipt[] {
  return documents.map(({ _id, receipt, at }) => ({ id: _id, receipt, parkedAtMs: at.getTime() }));
}
