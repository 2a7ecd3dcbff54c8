import { type ClientSession, type Db, type Document, MongoServerError } from "mongodb";
import { DuplicateDocument } from "../service/ports.ts";

/**
 * Inserts documents with one command: the driver's `insertMany` measures every document a second
 * time, which shows at thousands a second. Throws `DuplicateDocument` for a breach of a unique index.
 */
export async function insertAll(
  db: Db,
  collection: string,
  documents: readonly Document[],
  session: ClientSession,
): Promise<void> {
  if (documents.length === 0) return;
  const reply = await db.command(
    { insert: collection, documents, ordered: true },
    { session, ignoreUndefined: true },
  );
  throwWriteError(reply);
}

/** One guarded update: at most one document, by id and revision. */
export type GuardedUpdate = {
  readonly id: string;
  readonly revision: number;
  readonly update: Document;
};

/** Applies guarded updates in one command; answers how many of them found their document. */
export async function updateAll(
  db: Db,
  collection: string,
  updates: readonly GuardedUpdate[],
  session: ClientSession,
): Promise<number> {
  if (updates.length === 0) return 0;
  const reply = await db.command(
    {
      update: collection,
      ordered: true,
      updates: updates.map(({ id, revision, update }) => ({ q: { _id: id, revision }, u: update })),
    },
    { session },
  );
  throwWriteError(reply);
  return Number(reply.n);
}

function throwWriteError(reply: Document): void {
  const first = reply.writeErrors?.[0];
  if (first === undefined) return;
  if (first.code === 11000) throw new DuplicateDocument(first.index);
  throw new MongoServerError({ ...first, message: first.errmsg });
}
