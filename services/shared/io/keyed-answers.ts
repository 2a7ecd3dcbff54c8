/** First answers by idempotency key (`docs/contract.md#idempotency`), and the locks of keys whose requests run. */
import { Binary, type ClientSession, type Collection, type Db } from "mongodb";
import { keptUntilMs } from "../core/idempotency-key.ts";
import type { Idempotency, KeyedAnswer } from "../core/run-once.ts";
import { createIdempotencyLocks, keyReused } from "./idempotency-locks.ts";
import type { CollectionShape } from "./migration.ts";
import { guardMongo } from "./mongo-errors.ts";

type AnswerDocument = { _id: string; fingerprint: Binary; response: Binary; expires_at: Date };

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
  const locks = createIdempotencyLocks(db);

  async function find({ scope, fingerprint }: Pick<KeyedAnswer, "scope" | "fingerprint">) {
    const stored = await guardMongo(answers.findOne({ _id: scope }));
    if (stored === null || stored.expires_at.getTime() <= Date.now()) return undefined;
    if (!Buffer.from(stored.fingerprint.buffer).equals(fingerprint)) throw keyReused();
    return new Uint8Array(stored.response.buffer);
  }

  return {
    find,
    exclusively: ({ scope, fingerprint }, work) => locks.run(scope, fingerprint, work),
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
