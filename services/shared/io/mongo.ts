import type { LookupFunction } from "node:net";
import {
  type ClientSession,
  type Db,
  MongoClient,
  type MongoClientOptions,
  MongoError,
} from "mongodb";
import { addressTimeoutMs } from "../core/address-timeout.ts";
import type { Logger } from "../core/logger.ts";
import { backoffMs, pause } from "../flow/backoff.ts";
import { retry } from "../flow/retry.ts";
import { ClosingConnection } from "../vendor/mongodb-closing-connection.ts";
import { endAbandonedTransactions } from "./abandoned-transactions.ts";
import { type AddressOrder, createAddressOrder } from "./address-order.ts";
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

/** The driver has this option; its types do not name it. */
const CONNECTIONS = { connectionType: ClosingConnection } as MongoClientOptions;

/**
 * Opens a service's database; retries with backoff until the server answers or `signal` is aborted. The driver
 * recovers from later outages: operations fail within `selectionMs`, so that callers get
 * `service_unavailable` instead of hanging, and succeed once the server is back.
 */
export async function openMongo(options: {
  readonly uri: string;
  readonly database: string;
  readonly log: Logger;
  readonly poolMax?: number;
  readonly selectionMs?: number;
  /** The time limit of one command, in milliseconds; 0 for none, because an index build has no known end. */
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
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED in the environment would disable it.
  const verified = { tls: true, rejectUnauthorized: true };
  const tls = files === undefined ? {} : { ...verified, ...tlsContents(files) };
  const addresses = createHostOrders();
  const connect = async () => {
    const client = new MongoClient(uri, {
      ...tls,
      lookup: addresses.lookup,
      appName: database,
      maxPoolSize: poolMax,
      serverSelectionTimeoutMS: selectionMs,
      connectTimeoutMS: selectionMs,
      autoSelectFamilyAttemptTimeout: addressTimeoutMs(selectionMs),
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
      await client.db(database).command({ ping: 1 });
      client.on("serverHeartbeatFailed", ({ connectionId }) => addresses.skip(connectionId));
      return client;
    } catch (error) {
      addresses.skip();
      await client.close().catch(() => undefined);
      throw error;
    }
  };
  const client = await retry(connect, {
    baseMs: 200,
    capMs: 5000,
    signal,
    onRetry: (error, attempt) => log.warn({ error, attempt }, "MongoDB does not answer yet"),
  });
  const db = client.db(database);
  return {
    client,
    db,
    ping: async () => void (await db.command({ ping: 1 }, { timeoutMS: 2000 })),
    close: () => client.close(),
  };
}

/** One address order for each host of a replica set: an unreachable host changes only its own order. */
function createHostOrders() {
  const orders = new Map<string, AddressOrder>();
  const lookup: LookupFunction = (host, options, callback) => {
    const order = orders.get(host) ?? createAddressOrder();
    orders.set(host, order);
    order.lookup(host, options, callback);
  };
  return {
    lookup,
    /** Notes that a server, `host:port`, was not reached; without an argument, that no server was. */
    skip(server?: string) {
      for (const [host, order] of orders) {
        if (server === undefined || server.startsWith(`${host}:`)) order.skip(order.turn);
      }
    },
  };
}

/**
 * Runs `work` in one transaction (snapshot reads, majority writes) and commits it. Retries conflicts and
 * elections with jitter until `limitMs` has passed. When the answer to a commit is lost, it commits again:
 * MongoDB answers with the result of the first commit, so `work` is never applied twice.
 */
export async function runTransaction<T>(
  client: MongoClient,
  work: (session: ClientSession) => Promise<T>,
  limitMs = 10_000,
  wait: (attempt: number) => Promise<void> = (attempt) => pause(backoffMs(attempt, 2, 200)),
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  // After this long, the transaction that conflicts may belong to a dead process.
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

function commit(session: ClientSession, deadlineMs: number): Promise<void> {
  return retry(() => session.commitTransaction(), {
    baseMs: 5,
    capMs: 500,
    limitMs: deadlineMs - performance.now(),
    isRetryable: (error) =>
      isConnectionFault(error) ||
      (error instanceof MongoError && error.hasErrorLabel("UnknownTransactionCommitResult")),
  });
}

function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel("TransientTransactionError");
}
