import {
  type ClientSession,
  type Db,
  MongoClient,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from "mongodb";
import { AppError } from "../core/errors.ts";
import { endAbandonedTransactions } from "./abandoned-transactions.ts";
import { backoffMs, pause } from "./backoff.ts";
import type { Logger } from "./log.ts";
import { tlsContents, tlsFilesOf } from "./tls-files.ts";

/** A connection to one service's database. */
export type Mongo = {
  readonly client: MongoClient;
  readonly db: Db;
  /** Throws when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
};

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
  readonly signal?: AbortSignal;
}): Promise<Mongo> {
  const { uri, database, log, poolMax = 20, selectionMs = 5000, signal } = options;
  const files = tlsFilesOf(process.env, "MONGODB");
  const tls = files === undefined ? {} : { tls: true, ...tlsContents(files) };
  for (let attempt = 0; ; attempt += 1) {
    const client = new MongoClient(uri, {
      ...tls,
      appName: database,
      maxPoolSize: poolMax,
      serverSelectionTimeoutMS: selectionMs,
      connectTimeoutMS: selectionMs,
      socketTimeoutMS: 60_000,
      waitQueueTimeoutMS: selectionMs,
      retryWrites: true,
      retryReads: true,
      writeConcern: { w: "majority", journal: true },
      readConcern: { level: "majority" },
      readPreference: "primary",
      promoteLongs: true,
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

/** Tells whether a failure is the server's or the network's, so that the same work may succeed later. */
export function isMongoOutage(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "service_unavailable";
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    (error instanceof MongoError &&
      (error.hasErrorLabel("RetryableWriteError") ||
        error.hasErrorLabel("TransientTransactionError") ||
        error.hasErrorLabel("UnknownTransactionCommitResult") ||
        error.name === "MongoPoolClearedError" ||
        error.name === "MongoWaitQueueTimeoutError" ||
        error.name === "MongoOperationTimeoutError"))
  );
}

/** Wraps driver errors once, at the adapter's edge: outages become `service_unavailable`. */
export function wrapMongoError(error: unknown): unknown {
  if (error instanceof AppError || !isMongoOutage(error)) return error;
  return new AppError("service_unavailable", "The service is busy; try again shortly.", {
    cause: error,
  });
}

/** Awaits a driver call, its errors wrapped. */
export async function guardMongo<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw wrapMongoError(error);
  }
}

/** Tells whether a failure is a breach of a unique index (code 11000). */
export function isDuplicateKey(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11000;
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
        error instanceof MongoError && error.hasErrorLabel("UnknownTransactionCommitResult");
      if (!isUnknown || performance.now() > deadlineMs) throw error;
      await pause(backoffMs(attempt, 5, 500));
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel("TransientTransactionError");
}
