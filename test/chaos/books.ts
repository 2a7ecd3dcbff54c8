/** The databases, read directly: what the judges hold against the customers' records. */
import { type Db, MongoClient } from "mongodb";

/** A message at rest. */
export type MessageRow = {
  readonly _id: string;
  readonly tenant_id: string;
  readonly mode: string;
  readonly status: string;
  readonly to: string;
  readonly segments: number;
  readonly held: bigint;
  readonly amount?: bigint;
  readonly unit_price?: bigint;
  readonly reservation_id?: string;
  readonly client_reference?: string;
  readonly error?: string | { readonly code?: string };
  readonly phase?: string;
  readonly routes?: readonly { readonly price: bigint }[];
  readonly history: readonly { readonly status: string; readonly at: Date }[];
};

/** A send, or the tombstone of one. */
export type SendRow = {
  readonly _id: string;
  readonly tenant_id?: string;
  readonly idem?: string;
  readonly fenced?: boolean;
};

/** A send's hold. */
export type ReservationRow = {
  readonly _id: string;
  readonly tenant_id: string;
  readonly amount: bigint;
  readonly open_amount: bigint;
  readonly fenced_amount: bigint;
};

/** What became of one message's money. */
export type SettlementRow = {
  readonly _id: string;
  readonly tenant_id: string;
  readonly reservation_id: string;
  readonly held_amount: bigint;
  readonly captured_amount: bigint;
};

/** A tenant's figures. */
export type WalletRow = { readonly _id: string; readonly balance: bigint; readonly held: bigint };

/** One line of the ledger. */
export type MovementRow = {
  readonly tenantId: string;
  readonly sequence: number;
  readonly kind: string;
  readonly amount: bigint;
  readonly reservationId: string;
  readonly messageId: string;
  readonly reference: string;
};

/** A webhook delivery. */
export type DeliveryRow = {
  readonly _id: string;
  readonly tenant_id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly status: string;
  readonly attempts: readonly { readonly error: string }[];
};

/** Everything at rest. */
export type Books = {
  readonly messages: readonly MessageRow[];
  readonly sends: readonly SendRow[];
  readonly reservations: readonly ReservationRow[];
  readonly settlements: readonly SettlementRow[];
  readonly wallets: readonly WalletRow[];
  readonly movements: readonly MovementRow[];
  readonly deliveries: readonly DeliveryRow[];
  /** Receipts that have not found their message yet, as text: they are looked at ever more seldom. */
  readonly parked: readonly string[];
  /** Documents that should be gone by now, by collection: outboxes and dead letters. */
  readonly left: Readonly<Record<string, number>>;
};

/** What is still on its way; nothing is left when all are zero. */
export type Open = {
  readonly messages: number;
  readonly reservations: number;
  readonly deliveries: number;
  /** Deliveries to endpoints that let every attempt run into its timeout. */
  readonly hanging: number;
  readonly outbox: number;
};

const OUTBOXES = ["sms_messaging", "sms_wallet", "sms_tenant", "sms_sender_id", "sms_webhook"];

/** The service's databases, read without the service. */
export type BookReader = {
  /** What is still on its way for these tenants, whose hanging endpoints are these. */
  open(tenantIds: readonly string[], hangingIds: readonly string[]): Promise<Open>;
  read(): Promise<Books>;
  close(): Promise<void>;
};

/** Opens the databases at their own address, past every proxy. */
export async function openBooks(uri: string): Promise<BookReader> {
  const client = await new MongoClient(uri, { useBigInt64: true }).connect();
  const messaging = client.db("sms_messaging");
  const wallet = client.db("sms_wallet");
  const webhook = client.db("sms_webhook");
  const all = <T>(db: Db, name: string, projection: Record<string, 0 | 1>) =>
    db.collection(name).find({}, { projection }).toArray() as unknown as Promise<T[]>;

  async function countLeft(): Promise<Record<string, number>> {
    const left: Record<string, number> = {};
    for (const name of OUTBOXES) {
      for (const collection of ["outbox", "dead_letters"]) {
        left[`${name}.${collection}`] = await client
          .db(name)
          .collection(collection)
          .countDocuments();
      }
    }
    return left;
  }

  return {
    async open(tenantIds, hangingIds) {
      const tenant_id = { $in: [...tenantIds] };
      const status = { $in: ["scheduled", "queued", "sent"] };
      const pendingAt = (endpoint_id: object) =>
        webhook.collection("deliveries").countDocuments({ status: "pending", endpoint_id });
      const [messages, reservations, deliveries, hanging, left] = await Promise.all([
        messaging.collection("messages").countDocuments({ tenant_id, status }),
        wallet.collection("reservations").countDocuments({ tenant_id, open_amount: { $gt: 0n } }),
        pendingAt({ $nin: [...hangingIds] }),
        pendingAt({ $in: [...hangingIds] }),
        countLeft(),
      ]);
      const outbox = Object.entries(left)
        .filter(([name]) => name.endsWith(".outbox"))
        .reduce((sum, [, count]) => sum + count, 0);
      return { messages, reservations, deliveries, hanging, outbox };
    },
    async read() {
      const [
        messages,
        sends,
        reservations,
        settlements,
        wallets,
        batches,
        deliveries,
        left,
        parked,
      ] = await Promise.all([
        all<MessageRow>(messaging, "messages", { body: 0, search: 0 }),
        all<SendRow>(messaging, "sends", { tenant_id: 1, idem: 1, fenced: 1 }),
        all<ReservationRow>(wallet, "reservations", {}),
        all<SettlementRow>(wallet, "settlements", {}),
        all<WalletRow>(wallet, "wallets", { balance: 1, held: 1 }),
        all<BatchRow>(wallet, "entries", { tenant_id: 1, sequence: 1, movements: 1 }),
        all<DeliveryRow>(webhook, "deliveries", { body: 0 }),
        countLeft(),
        all<unknown>(client.db("sms_carrier"), "parked_receipts", {}),
      ]);
      const movements = batches.flatMap(toMovements);
      const books = { messages, sends, reservations, settlements, wallets };
      return { ...books, movements, deliveries, left, parked: parked.map(asText) };
    },
    close: () => client.close(),
  };
}

/** A document as JSON, with amounts as text. */
export function asText(document: unknown): string {
  return JSON.stringify(document, (_, value) => (typeof value === "bigint" ? `${value}` : value));
}

type BatchRow = {
  readonly tenant_id: string;
  readonly sequence: bigint | number;
  readonly movements: readonly {
    readonly kind: string;
    readonly amount: bigint;
    readonly reservation_id?: string;
    readonly message_id?: string;
    readonly reference?: string;
  }[];
};

function toMovements({ tenant_id: tenantId, sequence, movements }: BatchRow): MovementRow[] {
  return movements.map((movement) => ({
    tenantId,
    sequence: Number(sequence),
    kind: movement.kind,
    amount: movement.amount,
    reservationId: movement.reservation_id ?? "",
    messageId: movement.message_id ?? "",
    reference: movement.reference ?? "",
  }));
}
