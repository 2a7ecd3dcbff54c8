/**
 * Aborts transactions of dead processes. MongoDB ties a transaction to its session, not to its connection, and
 * ends it only after `transactionLifetimeLimitSeconds` (60 unless set). Until then every write to the same
 * documents conflicts. Our transactions take milliseconds, so one that has been idle for a second has lost its
 * owner, and a process that conflicts with it aborts it. Aborting a live one is harmless: it is rolled back and
 * its owner runs it again.
 */
import type { MongoClient, UUID } from "mongodb";

/** The idle time after which a transaction counts as abandoned. */
const IDLE_MS = 1000;
/** The minimum interval between two searches of one process. */
const SEARCH_EVERY_MS = 500;
/** The most transactions that one search ends. */
const ENDED_MAX = 1000;

type IdleSession = { readonly lsid?: { readonly id?: UUID } };

const lastSearchMs = new WeakMap<MongoClient, number>();

/**
 * Ends this user's abandoned transactions, unless a search ran a moment ago; returns how many it ended. Throws
 * when the server does not let this user list or end them.
 */
export async function endAbandonedTransactions(client: MongoClient): Promise<number> {
  const nowMs = performance.now();
  if (nowMs - (lastSearchMs.get(client) ?? Number.NEGATIVE_INFINITY) < SEARCH_EVERY_MS) return 0;
  lastSearchMs.set(client, nowMs);
  const admin = client.db("admin");
  const idle = await admin
    .aggregate<IdleSession>(
      [
        // `allUsers: false` lists this user's own operations, which needs no privilege.
        { $currentOp: { allUsers: false, idleSessions: true, idleConnections: false } },
        {
          $match: {
            type: "idleSession",
            "transaction.timeInactiveMicros": { $gte: IDLE_MS * 1000 },
          },
        },
        { $limit: ENDED_MAX },
        { $project: { "lsid.id": 1 } },
      ],
      { readConcern: { level: "local" }, timeoutMS: 2000 },
    )
    .toArray();
  const sessions = idle.flatMap(({ lsid }) => (lsid?.id === undefined ? [] : [{ id: lsid.id }]));
  if (sessions.length > 0) await admin.command({ killSessions: sessions }, { timeoutMS: 2000 });
  return sessions.length;
}

/**
 * Awaits a write outside a transaction. Where a transaction holds the same documents, MongoDB lets such a write
 * wait, for an abandoned one up to a minute. So this searches every second while the write waits.
 */
export async function endAbandonedWhile<T>(client: MongoClient, write: Promise<T>): Promise<T> {
  const search = () => void endAbandonedTransactions(client).catch(() => 0);
  const timer = setInterval(search, IDLE_MS);
  try {
    return await write;
  } finally {
    clearInterval(timer);
  }
}
