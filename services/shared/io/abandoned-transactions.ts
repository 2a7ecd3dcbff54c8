/**
 * A process that dies inside a transaction leaves it open: MongoDB ties transactions to sessions,
 * not to connections, and ends them only after `transactionLifetimeLimitSeconds` (60 unless set).
 * Until then every other write to the same documents meets a conflict. Ours take milliseconds, so
 * one that has been idle for a second has lost its owner, and whoever is kept waiting by it ends
 * it. Ending one that is alive after all is harmless: it is undone, and its owner runs it again.
 */
import type { MongoClient, UUID } from "mongodb";

/** Idle for this long, a transaction counts as abandoned. */
const IDLE_MS = 1000;
/** The least time between two searches of one process. */
const SEARCH_EVERY_MS = 500;
/** Transactions ended by one search. */
const ENDED_MAX = 1000;

type IdleSession = { readonly lsid?: { readonly id?: UUID } };

const lastSearchMs = new WeakMap<MongoClient, number>();

/**
 * Ends this user's abandoned transactions, unless it was tried a moment ago; answers how many were
 * ended. Throws when the server does not let this user look or end them.
 */
export async function endAbandonedTransactions(client: MongoClient): Promise<number> {
  const nowMs = performance.now();
  if (nowMs - (lastSearchMs.get(client) ?? Number.NEGATIVE_INFINITY) < SEARCH_EVERY_MS) return 0;
  lastSearchMs.set(client, nowMs);
  const admin = client.db("admin");
  const idle = await admin
    .aggregate<IdleSession>(
      [
        // `allUsers: false` shows this user's own operations, which needs no privilege.
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
