import {
  Binary,
  type ClientSession,
  type Collection,
  type Db,
  type Filter,
  type MongoClient,
} from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import { keptUntilMs } from "../../shared/core/idempotency-key.ts";
import { lowestIdAt, newId } from "../../shared/core/ids.ts";
import { type LockDocument, releaseLock, takeLock } from "../../shared/io/idempotency-locks.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { AcceptedSend, Refusal, SendRecord, SendStore, StoredSend } from "../app/ports.ts";
import { insertAll } from "./bulk-writes.ts";
import { toDocument } from "./documents.ts";

/**
 * One document of `sends`: an accepted send (or, with a key, a cancel), or the tombstone of one
 * that may never be written. `_id` is the reservation's id, so that send and tombstone exclude
 * each other whatever the clocks say. The tombstone of a refused request has its key instead, and
 * has expired from the start, by every clock: it is in the way of requests from before it, and of
 * none after it.
 */
type SendDocument = {
  _id: string;
  tenant_id?: string;
  idem?: string;
  fingerprint?: Binary;
  response?: Binary;
  first?: string;
  last?: string;
  fenced?: true;
  created_at: Date;
  expires_at: Date;
};

/** MongoDB answers 101 documents at first unless told; asking again costs a round trip. */
const BATCH_MAX = 1000;
/** The answer to a thousand recipients may have megabytes. */
const WITHOUT_ANSWER = { response: 0 } as const;
/** How long a tombstone stands: far longer than any commit can be late. */
const TOMBSTONE_MS = 604_800_000;

/** Earlier than any clock: another process may read a tombstone at what is, by its clock, an earlier time. */
const EXPIRED_EVER_SINCE = new Date(0);

/** No process's clock, which is in the ids that it makes, is further ahead of another's. */
const CLOCKS_APART_MS = 86_400_000;

/** Each try loses only to a commit under one of the keys; so often in a row is no accident. */
const CLOSINGS_MAX = 5;

/** Makes the store over one database. */
export function createSendStore(client: MongoClient, db: Db): SendStore {
  const sends: Collection<SendDocument> = db.collection("sends");
  const locks: Collection<LockDocument> = db.collection("fences");

  async function commitAll(
    items: readonly AcceptedSend[],
    nowMs: number,
    beforeCommit: () => Promise<void>,
  ): Promise<void> {
    const records = items.map((item) => item.record);
    const messages = items.flatMap((item) => item.messages.map(toDocument));
    await runTransaction(client, async (session) => {
      await insertRecords(db, records, nowMs, session);
      await insertAll(db, "messages", messages, session);
      await beforeCommit();
    });
  }

  async function findByKeys(keys: readonly string[]): Promise<Map<string, StoredSend>> {
    const found = await guardMongo(
      sends
        .find({ idem: { $in: [...keys] } }, { projection: WITHOUT_ANSWER, batchSize: BATCH_MAX })
        .toArray(),
    );
    return new Map(found.map((document) => [document.idem as string, toStoredSend(document)]));
  }

  /**
   * Puts a new tombstone under each of these keys, also where one was: a request that means to replace
   * that one finds it gone. Waits for commits under way; false when one of them was first.
   */
  async function putTombstones(
    keys: readonly string[],
    stored: ReadonlyMap<string, StoredSend>,
    nowMs: number,
  ): Promise<boolean> {
    const created_at = new Date(nowMs);
    const expires_at = EXPIRED_EVER_SINCE;
    const tombstones = keys.map((idem) => {
      return { _id: newId("send", nowMs), idem, fenced: true, created_at, expires_at };
    });
    const replaced = keys.flatMap((key) => stored.get(key)?.id ?? []);
    try {
      await runTransaction(client, async (session) => {
        await deleteReplaced(db, replaced, session);
        await insertAll(db, "sends", tombstones, session);
      });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  return {
    async commit(items, admit, nowMs) {
      const duplicates = new Set<number>();
      const refusals = new Map<number, Refusal>();
      let open = items.map((item, at) => ({ item, at }));
      const admitAll = async () => {
        const verdicts = await admit();
        for (const { at } of open) {
          const refusal = verdicts[at];
          if (refusal !== undefined) refusals.set(at, refusal);
        }
        // The error aborts the transaction; the loop writes again without the refused items.
        if (open.some(({ at }) => refusals.has(at))) throw refusedItems();
      };
      while (open.length > 0) {
        try {
          const sent = open.map(({ item }) => item);
          await commitAll(sent, nowMs, admitAll);
          break;
        } catch (error) {
          const admitted = open.filter(({ at }) => !refusals.has(at));
          const duplicate = isDuplicateKey(error) ? open[error.index] : undefined;
          if (admitted.length === open.length && duplicate === undefined) throw error;
          if (duplicate !== undefined) duplicates.add(duplicate.at);
          open = admitted.filter((entry) => entry !== duplicate);
        }
      }
      // A duplicate may be found before `admit` resolves; its result waits for that.
      const verdicts = duplicates.size === 0 ? [] : await admit();
      return items.map((_, at) =>
        duplicates.has(at) ? (verdicts[at] ?? "duplicate") : refusals.get(at),
      );
    },
    findByKeys,
    async readResponses(ids) {
      const found = await guardMongo(
        sends.find({ _id: { $in: [...ids] } }, { projection: { response: 1 } }).toArray(),
      );
      return new Map(found.map(({ _id, response }) => [_id, response?.buffer ?? new Uint8Array()]));
    },
    async closeKeys(keys, nowMs) {
      for (let attempt = 0; attempt < CLOSINGS_MAX; attempt += 1) {
        const stored = await findByKeys(keys);
        const live = new Map([...stored].filter(([, { expiresAtMs }]) => expiresAtMs > nowMs));
        const open = [...new Set(keys)].filter((key) => !live.has(key));
        if (open.length === 0 || (await putTombstones(open, stored, nowMs))) return live;
      }
      throw new AppError("service_unavailable", "The key is in use; try again shortly.");
    },
    async findByIds(ids) {
      const found = await guardMongo(
        sends
          .find({ _id: { $in: [...ids] } }, { projection: { fenced: 1 }, batchSize: BATCH_MAX })
          .toArray(),
      );
      return new Map(found.map(({ _id, fenced }) => [_id, fenced === true ? "tombstone" : "sent"]));
    },
    async putTombstone(id, nowMs) {
      const created_at = new Date(nowMs);
      const expires_at = new Date(nowMs + TOMBSTONE_MS);
      try {
        await guardMongo(sends.insertOne({ _id: id, fenced: true, created_at, expires_at }));
        return "tombstone";
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const projection = { fenced: 1 };
        const present = await guardMongo(sends.findOne({ _id: id }, { projection }));
        return present?.fenced === true ? "tombstone" : "sent";
      }
    },
    takeLock: (lock, nowMs) => takeLock(locks, lock, nowMs),
    releaseLock: (lock) => releaseLock(locks, lock),
    count: () => guardMongo(sends.estimatedDocumentCount()),
    async deleteExpired(nowMs, olderThanMs) {
      let deleted = 0;
      for (const some of expiredRanges(nowMs, olderThanMs)) {
        const filter = { ...some, expires_at: { $lte: new Date(nowMs) } };
        const ids = await sends.find(filter, { projection: { _id: 1 }, limit: 1000 }).toArray();
        if (ids.length === 0) continue;
        const result = await sends.deleteMany({ _id: { $in: ids.map(({ _id }) => _id) } });
        deleted += result.deletedCount;
      }
      return deleted;
    },
  };
}

function refusedItems(): AppError {
  return new AppError("conflict", "Some sends of the batch were refused.");
}

/** Where records are that may be past their time: ranges of ids, which their only full index has in order. */
function expiredRanges(nowMs: number, olderThanMs: number): Filter<SendDocument>[] {
  const before = nowMs - olderThanMs;
  const ahead = nowMs + CLOCKS_APART_MS;
  const ours = (["reservation", "send"] as const).map((kind) => {
    return { _id: { $gte: lowestIdAt(kind, 0), $lt: lowestIdAt(kind, before) } };
  });
  // Who asks the wallet itself may call a reservation anything. Of ours, none is in between.
  const others = [
    { _id: { $lt: lowestIdAt("reservation", 0) } },
    { _id: { $gte: lowestIdAt("reservation", ahead), $lt: lowestIdAt("send", 0) } },
    { _id: { $gte: lowestIdAt("send", ahead) } },
  ];
  return [...ours, { $or: others, fenced: true, idem: { $exists: false } }];
}

/**
 * Inserts records inside a transaction, after deleting the expired ones in their way. Throws
 * `DuplicateDocument` for a fenced reservation or a key that is held.
 */
export async function insertRecords(
  db: Db,
  records: readonly SendRecord[],
  nowMs: number,
  session: ClientSession,
): Promise<void> {
  const replaced = records.flatMap(({ replaces }) => replaces ?? []);
  await deleteReplaced(db, replaced, session);
  const documents = records.map((record) => toSendDocument(record, nowMs));
  await insertAll(db, "sends", documents, session);
}

/** Deletes by id: a record that has taken the key since stays, and is met at the index. */
async function deleteReplaced(
  db: Db,
  ids: readonly string[],
  session: ClientSession,
): Promise<void> {
  if (ids.length === 0) return;
  await db.collection<SendDocument>("sends").deleteMany({ _id: { $in: [...ids] } }, { session });
}

function toSendDocument(record: SendRecord, nowMs: number): SendDocument {
  const document: SendDocument = {
    _id: record.id,
    tenant_id: record.tenantId,
    created_at: new Date(nowMs),
    expires_at: new Date(keptUntilMs(nowMs, record.keepMs)),
  };
  if (record.firstMessageId !== undefined) document.first = record.firstMessageId;
  if (record.lastMessageId !== undefined) document.last = record.lastMessageId;
  if (record.key !== undefined) {
    document.idem = record.key;
    document.fingerprint = new Binary(record.fingerprint);
    document.response = new Binary(record.response);
  }
  return document;
}

function toStoredSend(document: SendDocument): StoredSend {
  return {
    id: document._id,
    fingerprint: document.fingerprint?.buffer ?? new Uint8Array(),
    expiresAtMs: document.expires_at.getTime(),
  };
}
