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

/**
 * Writes new revisions of documents that this transaction has read, by deleting and inserting
 * them: one statement each for the whole batch, which costs MongoDB half of what a list of updates
 * does (`services/adr/0034-replace-in-two-statements.md`). The transaction is the guard: a document that
 * another hand changed since it was read is a write conflict, and nothing of this is written. Only a
 * scan of one instant (`SNAPSHOT`) can neither miss such a document nor meet it twice.
 */
export async function replaceAll(
  db: Db,
  collection: string,
  documents: readonly Document[],
  session: ClientSession,
): Promise<void> {
  if (documents.length === 0) return;
  const ids = documents.map(({ _id }) => _id);
  const deletes = [{ q: { _id: { $in: ids } }, limit: 0 }];
  const reply = await db.command({ delete: collection, deletes, ordered: true }, { session });
  throwWriteError(reply);
  if (reply.n !== documents.length) throw new Error("a document to be replaced was never read");
  await insertAll(db, collection, documents, session);
}

function throwWriteError(reply: Document): void {
  const first = reply.writeErrors?.[0];
  if (first === undefined) return;
  if (first.code === 11000) throw new DuplicateDocument(first.index);
  throw new MongoServerError({ ...first, message: first.errmsg });
}
