import type { Collection, Db } from "mongodb";
import type {
  AuditDocument,
  BatchDocument,
  ReservationDocument,
  SettlementDocument,
  WalletDocument,
} from "./documents.ts";

/** The wallet's collections, with int64 read as `bigint`. */
export type Collections = {
  readonly wallets: Collection<WalletDocument>;
  readonly reservations: Collection<ReservationDocument>;
  readonly settlements: Collection<SettlementDocument>;
  readonly entries: Collection<BatchDocument>;
  readonly audit: Collection<AuditDocument>;
};

/** Opens the collections of a database. */
export function openCollections(db: Db): Collections {
  const options = { useBigInt64: true } as const;
  return {
    wallets: db.collection("wallets", options),
    reservations: db.collection("reservations", options),
    settlements: db.collection("settlements", options),
    entries: db.collection("entries", options),
    audit: db.collection("audit", options),
  };
}
