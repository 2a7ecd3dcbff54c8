import type { Collection, Db } from "mongodb";
import type {
  AuditDocument,
  BatchDocument,
  ReservationDocument,
  SettlementDocument,
  WalletDocument,
} from "./documents.ts";

/** What is written once: the type knows no way to change or remove a document. */
type AppendOnly<D extends { _id: string }> = Pick<
  Collection<D>,
  "find" | "findOne" | "insertOne" | "insertMany"
>;

/** The wallet's collections, with int64 read as `bigint`. */
export type Collections = {
  readonly wallets: Collection<WalletDocument>;
  readonly reservations: Collection<ReservationDocument>;
  readonly settlements: AppendOnly<SettlementDocument>;
  readonly entries: AppendOnly<BatchDocument>;
  readonly audit: AppendOnly<AuditDocument>;
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
