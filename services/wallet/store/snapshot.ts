import type { ClientSession, Db, FindCursor, MongoClient } from "mongodb";
import type { CheckedReservation, CheckedSettlement } from "../domain/check-holds.ts";
import type { LedgerSnapshot } from "../service/check.ts";
import { openCollections } from "./collections.ts";
import {
  type ReservationDocument,
  type SettlementDocument,
  toBatch,
  toWallet,
} from "./documents.ts";

/** Documents per read; batches are larger than the rest. */
const READ = 1000;
const READ_BATCHES = 20;

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
      return inChunks(wallets.find(filter, options).sort({ _id: 1 }), toWallet);
    },
    batches: (tenantId) =>
      inChunks(
        entries
          .find(own(tenantId), { ...options, batchSize: READ_BATCHES })
          .sort({ tenant_id: 1, sequence: 1 }),
        toBatch,
      ),
    reservations(tenantId) {
      const projection = { first_message_id: 0, last_message_id: 0, created_at: 0, check_at: 0 };
      const found = reservations.find(own(tenantId), { ...options, projection });
      return inChunks(found.sort({ _id: 1 }), toChecked);
    },
    settlements(tenantId) {
      const found = settlements.find(own(tenantId), { ...options, projection: { settled_at: 0 } });
      return inChunks(found.sort({ reservation_id: 1 }), toCheckedSettlement);
    },
    close: () => session.endSession(),
  };
}

/** Reads a cursor as it is sent: whole batches, without a promise per document. */
async function* inChunks<D, T>(
  cursor: FindCursor<D>,
  map: (document: D) => T,
): AsyncGenerator<readonly T[]> {
  try {
    while (await cursor.hasNext()) yield cursor.readBufferedDocuments().map(map);
  } finally {
    await cursor.close();
  }
}

function toChecked(document: ReservationDocument): CheckedReservation {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    amount: document.amount,
    openAmount: document.open_amount,
    fencedAmount: document.fenced_amount,
    state: document.state,
    messageCount: document.message_count,
  };
}

function toCheckedSettlement(document: SettlementDocument): CheckedSettlement {
  return {
    messageId: document._id,
    tenantId: document.tenant_id,
    reservationId: document.reservation_id,
    heldAmount: document.held_amount,
    capturedAmount: document.captured_amount,
  };
}
