/** First answers by idempotency key (`docs/contract.md#idempotency`), and the locks of keys whose requests run. */
import { randomUUID } from "node:crypto";
import { Binary, type ClientSession, type Collection, type Db } from "mongodb";
import { AppError } from "../core/errors.ts";
import { keptUntilMs } from "../core/idempotency-key.ts";
import type { Idempotency, KeyedAnswer } from "../core/run-once.ts";
import { type LockDocument, releaseLock, takeLock } from "./idempotency-locks.ts";
import type { CollectionShape } from "./migration.ts";
import { guardMongo } from "./mongo-errors.ts";

type AnswerDocument = { _id: string; fingerprint: Binary; response: Binary; expires_at: Date };

/** The lock of a process that died expires after this time; no request runs longer. */
const LOCK_MS = 60_000;

/** The collections of keys and locks. */
export const KEYED_ANSWER_SHAPES: readonly CollectionShape[] = [
  {
    name: "keyed_answers",
    indexes: [{ key: { expires_at: 1 }, name: "expires_at", expireAfterSeconds: 0 }],
  },
  { name: "fences", indexes: [{ key: { until: 1 }, name: "until", expireAfterSeconds: 0 }] },
];

/** Keys in one service's database; each is kept for `keyTtlMs`. */
export function createKeyedAnswers(db: Db, keyTtlMs: number): Idempotency {
  const answers: Collection<AnswerDocument> = db.collection("keyed_answers");
  const locks: Collection<LockDocument> = db.collection("fences");

  async function find({ scope, fingerprint }: Pick<KeyedAnswer, "scope" | "fingerprint">) {
    const stored = await guardMongo(answers.findOne({ _id: scope }));
    if (stored === null || stored.expires_at.getTime() <= Date.now()) return undefined;
    if (!Buffer.from(stored.fingerprint.buffer).equals(fingerprint)) throw reused();
    return new Uint8Array(stored.response.buffer);
  }

  return {
    find,
    async exclusively({ scope, fingerprint }, work) {
      const nowMs = Date.now();
      const lock = { key: scope, owner: randomUUID(), fingerprint, untilMs: nowMs + LOCK_MS };
      const result = await takeLock(locks, lock, nowMs);
      if (result === "reused") throw reused();
      if (result === "running") {
        throw new AppError("conflict", "A request with this idempotency key is still in progress.");
      }
      try {
        return await work();
      } finally {
        // The lock expires by itself; until then later requests with the key get `conflict`.
        await releaseLock(locks, lock).catch(() => undefined);
      }
    },
    save: (answer) => saveKeyedAnswer(db, answer, keyTtlMs),
  };
}

/** Stores an answer, in the transaction of its effect where there is one. */
export async function saveKeyedAnswer(
  db: Db,
  { scope, fingerprint, response }: KeyedAnswer,
  keyTtlMs: number,
  session?: ClientSession,
): Promise<void> {
  const answers: Collection<AnswerDocument> = db.collection("keyed_answers");
  const document = {
    fingerprint: new Binary(fingerprint),
    response: new Binary(response),
    expires_at: new Date(keptUntilMs(Date.now(), keyTtlMs)),
  };
  await guardMongo(
    answers.replaceOne({ _id: scope }, document, {
      upsert: true,
      ...(session === undefined ? {} : { session }),
    }),
  );
}

function reused(): AppError {
  return new AppError(
    "idempotency_key_reused",
    "This idempotency key was used with a different request.",
  );
}
