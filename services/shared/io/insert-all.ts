import { type ClientSession, type Db, type Document, MongoServerError } from "mongodb";

/** Where the command ends that begins at `from`: behind it, and before it has more than one command may. */
export type EndOfCommand = (documents: readonly Document[], from: number) => number;

/**
 * Inserts documents, each with its `_id`, inside a transaction and with few commands: the driver's
 * `insertMany` measures every document a second time, which shows at thousands a second. A breach of a
 * unique index is a `MongoServerError` as the driver's own (code 11000), with the document's `index`.
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

/** Throws the first write error that a command's reply has; `before` is how many documents earlier commands had. */
export function throwWriteError(reply: Document, before = 0): void {
  const first = reply.writeErrors?.[0];
  if (first === undefined) return;
  throw new MongoServerError({ ...first, index: before + first.index, message: first.errmsg });
}
