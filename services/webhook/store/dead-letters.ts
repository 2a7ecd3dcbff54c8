import type { Binary, Collection, Db } from "mongodb";
import { wrapMongoError } from "../../shared/io/mongo.ts";

type DeadLetterDocument = {
  _id: string;
  durable: string;
  subject: string;
  data: Binary;
  reason: string;
  created_at: Date;
};

/** An event that could not be handled. */
export type DeadLetter = {
  readonly id: string;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reason: string;
  readonly createdAtMs: number;
};

/** The dead letters that the event consumer wrote. */
export type DeadLetters = {
  /** Oldest first, after an id. */
  list(afterId: string, limit: number): Promise<DeadLetter[]>;
  findByIds(ids: readonly string[]): Promise<DeadLetter[]>;
  remove(ids: readonly string[]): Promise<void>;
  count(): Promise<number>;
};

/** Makes the store over `dead_letters`. */
export function createDeadLetters(db: Db): DeadLetters {
  const letters: Collection<DeadLetterDocument> = db.collection("dead_letters");
  const read = async (filter: Parameters<typeof letters.find>[0], limit: number) =>
    (await letters.find(filter).sort({ _id: 1 }).limit(limit).toArray().catch(rethrow)).map(
      toLetter,
    );

  return {
    list: (afterId, limit) => read({ _id: { $gt: afterId } }, limit),
    findByIds: (ids) => read({ _id: { $in: [...ids] } }, ids.length),
    async remove(ids) {
      await letters.deleteMany({ _id: { $in: [...ids] } }).catch(rethrow);
    },
    count: () => letters.estimatedDocumentCount(),
  };
}

function toLetter(document: DeadLetterDocument): DeadLetter {
  return {
    id: document._id,
    subject: document.subject,
    data: document.data.buffer,
    reason: document.reason,
    createdAtMs: document.created_at.getTime(),
  };
}

function rethrow(error: unknown): never {
  throw wrapMongoError(error);
}
