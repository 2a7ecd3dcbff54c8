import type { ClientSession, Collection, Db } from "mongodb";
import { insertAll } from "../../shared/io/insert-all.ts";
import type {
  AuditDocument,
  BatchDocument,
  ReservationDocument,
  SettlementDocument,
  WalletDocument,
} from "./documents.ts";

/** A collection without update and delete: its documents are written once. */
type AppendOnly<D extends { _id: string }> = Pick<
  Collection<D>,
  "find" | "findOne" | "insertOne" | "insertMany"
>;

/** Documents that a batch of commands inserts, by collection. */
type Added = {
  readonly reservations: ReservationDocument;
  readonly settlements: SettlementDocument;
  readonly entries: BatchDocument;
};

/** The wallet's collections; int64 is read as `bigint`. */
export type Collections = {
  readonly wallets: Collection<WalletDocument>;
  readonly reservations: Collection<ReservationDocument>;
  readonly settlements: AppendOnly<SettlementDocument>;
  readonly entries: AppendOnly<BatchDocument>;
  readonly audit: AppendOnly<AuditDocument>;
  /** Inserts documents inside a transaction. */
  insert<N extends keyof Added>(
    collection: N,
    documents: readonly Added[N][],
    session: ClientSession,
  ): Promise<void>;
};

export function openCollections(db: Db): Collections {
  const options = { useBigInt64: true } as const;
  return {
    wallets: db.collection("wallets", options),
    reservations: db.collection("reservations", options),
    settlements: db.collection("settlements", options),
    entries: db.collection("entries", options),
    audit: db.collection("audit", options),
    insert: (collection, documents, session) =>
      insertAll(db, collection, documents, endOfCommand, session),
  };
}

/**
 * The maximum number of reservations, settlements and movements in one insert command. The largest of them has
 * about 3 KB, and MongoDB limits a command to 16 MB.
 */
const ADDED_MAX = 4000;

/** Index after the last document of the next command. A command has at least one document. */
function endOfCommand(documents: readonly Partial<BatchDocument>[], from: number): number {
  let end = from;
  for (let size = 0; end < documents.length; end += 1) {
    size += 1 + (documents[end]?.movements?.length ?? 0);
    if (size > ADDED_MAX && end > from) break;
  }
  return end;
}
