/**
 * One effect per idempotency key (`decisions.md` "Idempotency"): the record with the response
 * commits in the transaction of the effect itself, so a crash leaves both or neither.
 */
import { Binary, type ClientSession, type Collection, type Db, type MongoClient } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { SecretBox } from "../../shared/io/secret-box.ts";
import type { Codec, Idempotency, RequestKey } from "../service/idempotency.ts";

type IdempotencyDocument = {
  _id: string;
  fingerprint: Binary;
  /** Sealed: it may hold a signing secret. */
  response: string;
  expires_at: Date;
};

/** How long a key is kept (`service.md` "Limits"). */
const KEPT_MS = 86_400_000;

/** Makes the store over `idempotency`. */
export function createIdempotency(
  client: MongoClient,
  db: Db,
  box: SecretBox,
): Idempotency<ClientSession> {
  const records: Collection<IdempotencyDocument> = db.collection("idempotency");

  async function find<R>(request: RequestKey, codec: Codec<R>): Promise<R | undefined> {
    if (request.key === "") return undefined;
    const id = idOf(request);
    const record = await records.findOne({ _id: id }).catch((error: unknown) => {
      throw wrapMongoError(error);
    });
    if (record === null || record.expires_at.getTime() <= Date.now()) return undefined;
    if (!Buffer.from(record.fingerprint.buffer).equals(request.fingerprint)) {
      throw new AppError(
        "idempotency_key_reused",
        "This idempotency key was used with a different body.",
      );
    }
    return codec.decode(Buffer.from(box.open(record.response, id), "base64"));
  }

  return {
    find,
    async run(request, codec, effect) {
      const known = await find(request, codec);
      if (known !== undefined) return { response: known, replayed: true };
      try {
        const response = await runTransaction(client, async (session) => {
          const made = await effect(session);
          if (request.key !== "") await keep(session, request, codec.encode(made));
          return made;
        });
        return { response, replayed: false };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        // The same key committed first, from another request at the same time.
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
        expires_at: new Date(now + KEPT_MS),
      },
      { session },
    );
  }
}

function idOf(request: RequestKey): string {
  return `${request.tenantId}|${request.operation}|${request.key}`;
}
