import type { ClientSession, Collection, Db } from "mongodb";
import { insertAll } from "../../shared/io/insert-all.ts";
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

/** What each batch of commands adds to, by the collection's name. */
type Added = {
  readonly reservations: ReservationDocument;
  readonly settlements: SettlementDocument;
  readonly entries: BatchDocument;
};

/** The wallet's collections, with int64 read as `bigint`. */
export type Collections = {
  readonly wallets: Collection<WalletDocument>;
  readonly reservations: Collection<ReservationDocument>;
  readonly settlements: AppendOnly<SettlementDocument>;
  readonly entries: AppendOnly<BatchDocument>;
  readonly audit: AppendOnly<AuditDocument>;
  /** Adds documents inside a transaction. */
  insert<N extends keyof Added>(
    collection: N,
    documents: readonly Added[N][],
    session: ClientSession,
  ): Promise<void>;
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
    insert: (collection, documents, session) =>
      insertAll(db, collection, documents, endOfCommand, session),
  };
}

/**
 * Reservations, settlements and movements in one command. The longest that their texts allow has some 3 KB, and
 * a command at most 16 MB, its documents included.
 */
const ADDED_MAX = 4000;

/** As many documents as there is room for, and one at the least: a batch of a wallet is a document of its own. */
function endOfCommand(documents: readonly Partial<BatchDocument>[], from: number): number {
  let end = from;
  for (let size = 0; end < documents.length; end += 1) {
    size += 1 + (documents[end]?.movements?.length ?? 0);
    if (size > ADDED_MAX && end > from) break;
  }
  return end;
}
