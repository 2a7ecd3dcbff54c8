/**
 * Reads a whole database at one instant, without blocking writers; for checks and reconciliations. MongoDB
 * keeps an instant for `minSnapshotHistoryWindowInSeconds` (300 unless set); a slower reader gets an error that
 * says so.
 */
import { type ClientSession, type FindCursor, type MongoClient, MongoServerError } from "mongodb";
import { AppError } from "../core/errors.ts";
import { wrapMongoError } from "./mongo-errors.ts";

/** One instant; every read with `options` sees it. */
export type Snapshot = {
  /** For every find; the first one fixes the instant. */
  readonly options: {
    readonly session: ClientSession;
    readonly readConcern: typeof SNAPSHOT;
  };
  /**
   * Reads a cursor in the server's batches: a promise for each of ten million documents would take longer than
   * the reading. Throws `request_timeout` when the instant is no longer kept.
   */
  chunks<D, T>(cursor: FindCursor<D>, map: (document: D) => T): AsyncGenerator<T[]>;
  close(): Promise<void>;
};

/**
 * The read concern of a snapshot; set it on every read, or the connection's own read concern applies.
 */
export const SNAPSHOT = { level: "snapshot" } as const;

/** MongoDB's `SnapshotTooOld` (mongodb/mongo, error_codes.yml). */
const SNAPSHOT_TOO_OLD = 239;

/** Opens a snapshot; the first read fixes its instant. */
export function openSnapshot(client: MongoClient): Snapshot {
  const session = client.startSession({ snapshot: true });
  return {
    // Set on every read: the connection's read concern would override the session's.
    options: { session, readConcern: SNAPSHOT },
    async *chunks(cursor, map) {
      try {
        while (await cursor.hasNext()) yield cursor.readBufferedDocuments().map(map);
      } catch (error) {
        throw isTooOld(error) ? tooOld(error) : wrapMongoError(error);
      } finally {
        await cursor.close();
      }
    },
    close: () => session.endSession(),
  };
}

function isTooOld(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === SNAPSHOT_TOO_OLD;
}

function tooOld(cause: unknown): AppError {
  const message =
    "The check took longer than the database keeps one instant. Raise MongoDB's " +
    "minSnapshotHistoryWindowInSeconds (300 unless set), or check one tenant at a time.";
  return new AppError("request_timeout", message, { cause });
}
