import { type ClientSession, type Db, type Document, MongoServerError } from "mongodb";

/** The end of the command that starts at `from`, within the limits of one command. */
export type EndOfCommand = (documents: readonly Document[], from: number) => number;

/**
 * Inserts documents, each with its `_id`, in a transaction and with few commands. The driver's `insertMany`
 * measures every document a second time, which costs CPU at thousands a second. A breach of a unique index is a
 * `MongoServerError` like the driver's (code 11000), with the document's `index`.
 */
export async function insertAll(
  db: Db,
  collection: string,
  documents: readonly Document[],
  endOfCommand: EndOfCommand,
  session: ClientSession,
): Promise<void> {
  for (let from = 0, end = 0; from < documents.length; from = end) {
    end = endOfCommand(documents, from);
    const part = documents.slice(from, end);
    const reply = await db.command(
      { insert: collection, documents: part, ordered: true },
      { session, ignoreUndefined: true },
    );
    throwWriteError(reply, from);
  }
}

/**
 * Throws the first write error of a command's reply; `before` is the number of documents in earlier commands.
 */
export function throwWriteError(reply: Document, before = 0): void {
  const first = reply.writeErrors?.[0];
  if (first === undefined) return;
  throw new MongoServerError({ ...first, index: before + first.index, message: first.errmsg });
}
