import type { ClientSession, Db, Document } from "mongodb";
import { insertAll as insert, throwWriteError } from "../../shared/io/insert-all.ts";

/**
 * The most documents in one command. MongoDB takes 16 MiB; `TEXT_MAX` of it is for texts, so each document has 48 KiB
 * for its other fields. A message with hundreds of routes needs about half of that.
 */
const DOCUMENTS_MAX = 256;

/** The most text in one command's documents, in bytes; a document with more has a command of its own. */
const TEXT_MAX = 4 * 1024 * 1024;

/** The size of a message's text or of a stored response; rejected text is stored as given. */
function textOf({ body = "", to = "", response }: Document): number {
  return 3 * (body.length + to.length) + (response?.position ?? 0);
}

/** The end of the command that begins with this document. */
function endOfCommand(documents: readonly Document[], from: number): number {
  const most = Math.min(documents.length, from + DOCUMENTS_MAX);
  let text = 0;
  for (let at = from; at < most; at += 1) {
    text += textOf(documents[at] as Document);
    if (text > TEXT_MAX && at > from) return at;
  }
  return most;
}

/**
 * Inserts documents with few commands. A document that violates a unique index throws the driver's error
 * (`isDuplicateKey`) with its position as `index`.
 */
export async function insertAll(
  db: Db,
  collection: string,
  documents: readonly Document[],
  session: ClientSession,
): Promise<void> {
  await insert(db, collection, documents, endOfCommand, session);
}

/**
 * Replaces documents that this transaction has read: one delete and one insert for the whole batch, which
 * cost MongoDB half of what a list of updates does (`docs/adr/0034-update-batches-by-delete-and-insert.md`).
 * The transaction is the guard: a document that another writer has changed since is a write conflict, and
 * nothing is written. Readers need the read concern `SNAPSHOT`: other scans can miss such a document or
 * return it twice.
 */
export async function replaceAll(
  db: Db,
  collection: string,
  documents: readonly Document[],
  session: ClientSession,
): Promise<void> {
  if (documents.length === 0) return;
  const deletes = [{ q: { _id: { $in: documents.map(({ _id }) => _id) } }, limit: 0 }];
  const reply = await db.command({ delete: collection, deletes, ordered: true }, { session });
  throwWriteError(reply);
  if (reply.n !== documents.length) throw new Error("a document to be replaced was never read");
  await insertAll(db, collection, documents, session);
}
