import type { Db, MongoClient } from "mongodb";
import { openSnapshot } from "../../shared/io/snapshot.ts";
import type { LedgerSnapshot } from "../app/reconcile.ts";
import { openCollections } from "./collections.ts";
import { toBatch, toCheckedReservation, toCheckedSettlement, toWallet } from "./documents.ts";

/** Documents per read. Entry batches are larger than other documents. */
const READ = 1000;
const READ_BATCHES = 20;

/** Opens a snapshot of the whole ledger. It blocks no writer. */
export function openLedgerSnapshot(client: MongoClient, db: Db): LedgerSnapshot {
  const { wallets, entries, reservations, settlements } = openCollections(db);
  const own = (tenantId: string) => (tenantId === "" ? {} : { tenant_id: tenantId });
  const snapshot = openSnapshot(client);
  const { chunks } = snapshot;
  const options = { ...snapshot.options, batchSize: READ, allowDiskUse: true };
  return {
    wallets(tenantId) {
      const filter = tenantId === "" ? {} : { _id: tenantId };
      return chunks(wallets.find(filter, options).sort({ _id: 1 }), toWallet);
    },
    batches: (tenantId) =>
      chunks(
        entries
          .find(own(tenantId), { ...options, batchSize: READ_BATCHES })
          .sort({ tenant_id: 1, sequence: 1 }),
        toBatch,
      ),
    reservations(tenantId) {
      const projection = {
        settled_count: 0,
        first_message_id: 0,
        last_message_id: 0,
        created_at: 0,
        check_at: 0,
      };
      const found = reservations.find(own(tenantId), { ...options, projection });
      return chunks(found.sort({ _id: 1 }), toCheckedReservation);
    },
    settlements(tenantId) {
      const found = settlements.find(own(tenantId), { ...options, projection: { settled_at: 0 } });
      return chunks(found.sort({ reservation_id: 1 }), toCheckedSettlement);
    },
    close: () => snapshot.close(),
  };
}
