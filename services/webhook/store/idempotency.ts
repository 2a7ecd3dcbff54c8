/**
 * One effect per idempotency key (`docs/contract.md#idempotency`): the record with the response
 * commits in the transaction of the effect, so a crash leaves both or neither. A lock around the
 * request refuses a second one meanwhile.
 */
import { Binary, type ClientSession, type Collection, type Db, type MongoClient } from "mongodb";
import { keptUntilMs } from "../../shared/core/idempotency-key.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";
import { createIdempotencyLocks, keyReused } from "../../shared/io/idempotency-locks.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { Codec, Idempotency, RequestKey } from "../app/idempotency.ts";

type IdempotencyDocument = {
  _id: string;
  fingerprint: Binary;
  /** Encrypted: it may hold a signing secret. */
  response: string;
  expires_at: Date;
};

/** A key is kept for `keptMs`. */
export function createIdempotency(
  client: MongoClient,
  db: Db,
  box: SecretBox,
  keptMs: number,
): Idempotency<ClientSession> {
  const records: Collection<IdempotencyDocument> = db.collection("idempotency");
  const locks = createIdempotencyLocks(db);

  async function load(request: RequestKey): Promise<IdempotencyDocument | undefined> {
    if (request.key === "") return undefined;
    const record = await guardMongo(records.findOne({ _id: idOf(request) }));
    if (record === null || record.expires_at.getTime() <= Date.now()) return undefined;
    const isSame = Buffer.from(record.fingerprint.buffer).equals(request.fingerprint);
    if (!isSame) throw keyReused();
    return record;
  }

  async function find<R>(request: RequestKey, codec: Codec<R>): Promise<R | undefined> {
    const record = await load(request);
    if (record === undefined) return undefined;
    return codec.decode(Buffer.from(box.open(record.response, record._id), "base64"));
  }

  return {
    find,
    async check(request) {
      if (request.key === "") return false;
      if ((await load(request)) !== undefined) return true;
      await locks.check(idOf(request), request.fingerprint);
      return false;
    },
    exclusively(request, work) {
      if (request.key === "") return work();
      return locks.run(idOf(request), request.fingerprint, work);
    },
    async run(request, codec, effect) {
      try {
        const response = await runTransaction(client, async (session) => {
          const made = await effect(session);
          if (request.key !== "") await keep(session, request, codec.encode(made));
          return made;
        });
        return { response, replayed: false };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        // Another request of the key committed first: this process was paused until its lock
        // expired.
        const stored = await find(request, codec);
        if (stored === undefined) throw error;
        return { response: stored, replayed: true };
      }
    },
  };

  async function keep(session: ClientSession, request: RequestKey, response: Uint8Array) {
    const _id = idOf(request);
    const now = Date.now();
    await records.deleteOne({ _id, expires_at: { $lte: new Date(now) } }, { session });
    await records.insertOne(
      {
        _id,
        fingerprint: new Binary(request.fingerprint),
        response: box.seal(Buffer.from(response).toString("base64"), _id),
        expires_at: new Date(keptUntilMs(now, keptMs)),
      },
      { session },
    );
  }
}

function idOf(request: RequestKey): string {
  return `${request.tenantId}|${request.operation}|${request.key}`;
}
