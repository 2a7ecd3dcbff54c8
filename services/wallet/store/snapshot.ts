import type { ClientSession, Db, MongoClient } from "mongodb";
import type { LedgerSnapshot } from "../service/check.ts";
import { openCollections } from "./collections.ts";
import { toBatch, toReservation, toSettlement, toWallet } from "./documents.ts";

/** Documents per read; batches are larger than the rest. */
const READ = 1000;
const READ_BATCHES = 100;

/**
 * Opens a snapshot of the whole database: every read sees the instant of the first one, writers
 * are not held up. MongoDB keeps that instant for `minSnapshotHistoryWindowInSeconds` (300 unless
 * set); a check that takes longer fails with `SnapshotTooOld`.
 */
export function openLedgerSnapshot(client: MongoClient, db: Db): LedgerSnapshot {
  const session: ClientSession = client.startSession({ snapshot: true });
  const { wallets, entries, reservations, settlements } = openCollections(db);
  const own = (tenantId: string) => (tenantId === "" ? {} : { tenant_id: tenantId });
  // Said on every read: the connection's own read concern would take the session's place.
  const readConcern = { level: "snapshot" } as const;
  const options = { session, readConcern, batchSize: READ, allowDiskUse: true };
  return {
    wallets(tenantId) {
      const filter = tenantId === "" ? {} : { _id: tenantId };
      return wallets.find(filter, options).sort({ _id: 1 }).map(toWallet);
    },
    batches: (tenantId) =>
      entries
        .find(own(tenantId), { ...options, batchSize: READ_BATCHES })
        .sort({ tenant_id: 1, sequence: 1 })
        .map(toBatch),
    reservations: (tenantId) =>
      reservations.find(own(tenantId), options).sort({ _id: 1 }).map(toReservation),
    settlements: (tenantId) =>
      settlements.find(own(tenantId), options).sort({ reservation_id: 1 }).map(toSettlement),
    close: () => session.endSession(),
  };
}
