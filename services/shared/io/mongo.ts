import {
  type ClientSession,
  type Db,
  MongoClient,
  type MongoClientOptions,
  MongoError,
} from "mongodb";
import type { Logger } from "../core/logger.ts";
import { backoffMs, pause } from "../flow/backoff.ts";
import { ClosingConnection } from "../vendor/mongodb-closing-connection.ts";
import { endAbandonedTransactions } from "./abandoned-transactions.ts";
import { isConnectionFault, wrapMongoError } from "./mongo-errors.ts";
import { tlsContents, tlsFilesOf } from "./tls-files.ts";

/** A connection to one service's database. */
export type Mongo = {
  readonly client: MongoClient;
  readonly db: Db;
  /** Throws when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
};

/** An option that the driver has and its types do not name. */
const CONNECTIONS = { connectionType: ClosingConnection } as MongoClientOptions;

/**
 * Opens a service's database; tries for ever with back-off until the server answers or `signal`
 * is aborted. Later outages are the driver's to mend: operations fail within `selectionMs`
 * (so that callers hear "unavailable" instead of hanging) and succeed again when it is back.
 */
export async function openMongo(options: {
  readonly uri: string;
  readonly database: string;
  readonly log: Logger;
  readonly poolMax?: number;
  readonly selectionMs?: number;
  /** How long one command may take; 0 bounds nothing: building an index takes as long as it takes. */
  readonly commandMs?: number;
  readonly signal?: AbortSignal;
}): Promise<Mongo> {
  const {
    uri,
    database,
    log,
    poolMax = 20,
    selectionMs = 5000,
    commandMs = 60_000,
    signal,
  } = options;
  const files = tlsFilesOf(process.env, "MONGODB");
  const tls = files === undefined ? {} : { tls: true, ...tlsContents(files) };
  for (let attempt = 0; ; attempt += 1) {
    const client = new MongoClient(uri, {
      ...tls,
      appName: database,
      maxPoolSize: poolMax,
      serverSelectionTimeoutMS: selectionMs,
      connectTimeoutMS: selectionMs,
      socketTimeoutMS: commandMs,
      waitQueueTimeoutMS: selectionMs,
      retryWrites: true,
      retryReads: true,
      writeConcern: { w: "majority", journal: true },
      readConcern: { level: "majority" },
      readPreference: "primary",
      promoteLongs: true,
      ...CONNECTIONS,
    });
    try {
      await client.connect();
      const db = client.db(database);
      await db.command({ ping: 1 });
      return {
        client,
        db,
        ping: async () => void (await db.command({ ping: 1 }, { timeoutMS: 2000 })),
        close: () => client.close(),
      };
    } catch (error) {
      await client.close().catch(() => undefined);
      if (signal?.aborted === true) throw error;
      log.warn({ error, attempt }, "MongoDB does not answer yet");
      await pause(backoffMs(attempt, 200, 5000), signal);
    }
  }
}

/**
 * Runs `work` in one transaction (snapshot reads, majority writes) and commits it. Conflicts and
 * elections are retried with jitter until `limitMs` has passed; a commit whose answer was lost is
 * asked again, which MongoDB answers with the one true outcome, so `work` is never applied twice.
 */
export async function runTransaction<T>(
  client: MongoClient,
  work: (session: ClientSession) => Promise<T>,
  limitMs = 10_000,
  wait: (attempt: number) => Promise<void> = (attempt) => pause(backoffMs(attempt, 2, 200)),
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  // Kept waiting for this long, the other side of the conflict may well be dead.
  const suspectMs = performance.now() + 300;
  const session = client.startSession();
  try {
    for (let attempt = 0; ; attempt += 1) {
      session.startTransaction({
        readConcern: { level: "snapshot" },
        writeConcern: { w: "majority", journal: true },
      });
      try {
        const result = await work(session);
        await commit(session, deadlineMs);
        return result;
      } catch (error) {
        if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
        if (!isTransient(error) || performance.now() > deadlineMs) throw wrapMongoError(error);
        if (performance.now() > suspectMs) await endAbandonedTransactions(client).catch(() => 0);
        await wait(attempt);
      }
    }
  } finally {
    await session.endSession();
  }
}

async function commit(session: ClientSession, deadlineMs: number): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      const isUnknown =
        isConnectionFault(error) ||
        (error instanceof MongoError && error.hasErrorLabel("UnknownTransactionCommitResult"));
      if (!isUnknown || performance.now() > deadlineMs) throw error;
      await pause(backoffMs(attempt, 5, 500));
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel("TransientTransactionError");
}
