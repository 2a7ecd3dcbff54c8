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
import { endAbandonedWhile } from "../../shared/io/abandoned-transactions.ts";
import { type LockDocument, releaseLock, takeLock } from "../../shared/io/idempotency-locks.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { AcceptedSend, Refusal, SendRecord, SendStore, StoredSend } from "../app/ports.ts";
import { countNew } from "../domain/usage.ts";
import { insertAll } from "./bulk-writes.ts";
import { toDocument } from "./documents.ts";
import { appendUsage } from "./usage.ts";

/**
 * One document of `sends`: an accepted send, a cancel with a key, or the tombstone of a send that must never be
 * written. `_id` is the reservation's id, so send and tombstone exclude each other, independent of clocks. The
 * tombstone of a refused request has the key instead, and is expired from the start: it blocks requests from before
 * it, and none after it.
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

/** By default MongoDB returns 101 documents first, and more cost another round trip. */
const BATCH_MAX = 1000;
/** Leaves out the stored response: that to a thousand recipients can have megabytes. */
const WITHOUT_ANSWER = { response: 0 } as const;
/** Lifetime of a tombstone: 7 days, far longer than a commit can be delayed. */
const TOMBSTONE_MS = 604_800_000;

/** An instant before any clock's, because the clock of another process may be behind. */
const ALWAYS_EXPIRED = new Date(0);

/** The maximum clock skew between processes; ids contain the clock of their process. */
const CLOCK_SKEW_MAX_MS = 86_400_000;

/** Attempts to close keys; each fails only because of a concurrent commit under one of them. */
const CLOSE_ATTEMPTS_MAX = 5;

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
    const usage = countNew(items.flatMap((item) => item.messages));
    await runTransaction(client, async (session) => {
      await insertRecords(db, records, nowMs, session);
      await insertAll(db, "messages", messages, session);
      await appendUsage(db, usage, nowMs, session);
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
   * Puts a new tombstone under each of these keys, also in place of an older one: a request that would replace the
   * older one then fails. Waits for concurrent commits; false if one of them won.
   */
  async function putTombstones(
    keys: readonly string[],
    stored: ReadonlyMap<string, StoredSend>,
    nowMs: number,
  ): Promise<boolean> {
    const created_at = new Date(nowMs);
    const expires_at = ALWAYS_EXPIRED;
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
        const results = await admit();
        for (const { at } of open) {
          const refusal = results[at];
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
      const results = duplicates.size === 0 ? [] : await admit();
      return items.map((_, at) =>
        duplicates.has(at) ? (results[at] ?? "duplicate") : refusals.get(at),
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
      for (let attempt = 0; attempt < CLOSE_ATTEMPTS_MAX; attempt += 1) {
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
        // A killed process may have left a commit of this send open: end it if it blocks this write.
        const write = sends.insertOne({ _id: id, fenced: true, created_at, expires_at });
        await guardMongo(endAbandonedWhile(client, write));
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

/** Ranges of ids that may contain expired records; ids are the only full index. */
function expiredRanges(nowMs: number, olderThanMs: number): Filter<SendDocument>[] {
  const before = nowMs - olderThanMs;
  const ahead = nowMs + CLOCK_SKEW_MAX_MS;
  const ours = (["reservation", "send"] as const).map((kind) => {
    return { _id: { $gte: lowestIdAt(kind, 0), $lt: lowestIdAt(kind, before) } };
  });
  // Other clients of the wallet may use any reservation id; ours are never in these ranges.
  const others = [
    { _id: { $lt: lowestIdAt("reservation", 0) } },
    { _id: { $gte: lowestIdAt("reservation", ahead), $lt: lowestIdAt("send", 0) } },
    { _id: { $gte: lowestIdAt("send", ahead) } },
  ];
  return [...ours, { $or: others, fenced: true, idem: { $exists: false } }];
}

/**
 * Inserts records inside a transaction, after deleting the expired ones that they replace. Throws a duplicate-key
 * error for a reservation with a tombstone, or a key that another request holds.
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

/** Deletes by id, so a newer record of the same key stays and causes a duplicate-key error. */
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
