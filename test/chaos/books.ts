/** The databases, read directly: what the judges hold against the customers' records. */
import { type Db, MongoClient } from "mongodb";
import { connect } from "nats";
import { EVENT_STREAM } from "../../services/shared/io/nats.ts";
import { SETTLE_DURABLE } from "../../services/wallet/adapters/events.ts";
import { DURABLE } from "../../services/webhook/adapters/events.ts";

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

/** Why a message ended as it did; undefined where nothing went wrong. */
export function errorCodeOf({ error }: Pick<MessageRow, "error">): string | undefined {
  return typeof error === "string" ? error : error?.code;
}

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

/** A webhook delivery whose schedule is over. */
export type FailedDelivery = {
  readonly endpoint_id: string;
  readonly attempts: readonly { readonly error: string }[];
  /** What was to be sent. */
  readonly body: string;
};

/** Everything at rest. */
export type Books = {
  readonly messages: readonly MessageRow[];
  readonly sends: readonly SendRow[];
  readonly reservations: readonly ReservationRow[];
  readonly settlements: readonly SettlementRow[];
  readonly wallets: readonly WalletRow[];
  readonly movements: readonly MovementRow[];
  /** How many webhook deliveries there are. */
  readonly deliveries: number;
  /** Those to healthy endpoints that failed. */
  readonly failedDeliveries: readonly FailedDelivery[];
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
  /** Events that were published and not handled yet. */
  readonly events: number;
};

/** Who handles events. */
const CONSUMERS = [DURABLE, SETTLE_DURABLE];

const OUTBOXES = ["sms_messaging", "sms_wallet", "sms_tenant", "sms_sender_id", "sms_webhook"];

/** The service's databases, read without the service. */
export type BookReader = {
  /** What is still on its way for these tenants, whose hanging endpoints are these. */
  open(tenantIds: readonly string[], hangingIds: readonly string[]): Promise<Open>;
  /** Everything; of these endpoints, which are healthy, also the deliveries that failed. */
  read(healthyIds: readonly string[]): Promise<Books>;
  close(): Promise<void>;
};

/** Opens the databases and the stream of events at their own addresses, past every proxy. */
export async function openBooks(mongodbUri: string, natsUrl: string): Promise<BookReader> {
  const client = await new MongoClient(mongodbUri, { useBigInt64: true }).connect();
  const nats = await connect({
    servers: natsUrl,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
  });
  const stream = await nats.jetstreamManager();
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

  async function countUnhandled(): Promise<number> {
    const infos = CONSUMERS.map((name) => stream.consumers.info(EVENT_STREAM, name));
    return (await Promise.all(infos)).reduce(
      (sum, info) => sum + info.num_pending + info.num_ack_pending,
      0,
    );
  }

  return {
    async open(tenantIds, hangingIds) {
      const tenant_id = { $in: [...tenantIds] };
      const status = { $in: ["scheduled", "queued", "sent"] };
      const pendingAt = (endpoint_id: object) =>
        webhook.collection("deliveries").countDocuments({ status: "pending", endpoint_id });
      // One after the other, the way an event goes: what moves on meanwhile is seen further on.
      const messages = await messaging.collection("messages").countDocuments({ tenant_id, status });
      const outbox = Object.entries(await countLeft())
        .filter(([name]) => name.endsWith(".outbox"))
        .reduce((sum, [, count]) => sum + count, 0);
      const events = await countUnhandled();
      const isOpen = { tenant_id, open_amount: { $gt: 0n } };
      const reservations = await wallet.collection("reservations").countDocuments(isOpen);
      const deliveries = await pendingAt({ $nin: [...hangingIds] });
      const hanging = await pendingAt({ $in: [...hangingIds] });
      return { messages, reservations, deliveries, hanging, outbox, events };
    },
    async read(healthyIds) {
      const isFailed = { status: "failed", endpoint_id: { $in: [...healthyIds] } };
      const projection = { _id: 0, endpoint_id: 1, attempts: 1, body: 1 };
      const [
        messages,
        sends,
        reservations,
        settlements,
        wallets,
        batches,
        deliveries,
        failedDeliveries,
        left,
        parked,
      ] = await Promise.all([
        all<MessageRow>(messaging, "messages", { body: 0, search: 0 }),
        all<SendRow>(messaging, "sends", { tenant_id: 1, idem: 1, fenced: 1 }),
        all<ReservationRow>(wallet, "reservations", {}),
        all<SettlementRow>(wallet, "settlements", {}),
        all<WalletRow>(wallet, "wallets", { balance: 1, held: 1 }),
        all<BatchRow>(wallet, "entries", { tenant_id: 1, sequence: 1, movements: 1 }),
        webhook.collection("deliveries").countDocuments(),
        webhook.collection("deliveries").find<FailedDelivery>(isFailed, { projection }).toArray(),
        countLeft(),
        all<unknown>(client.db("sms_carrier"), "parked_receipts", {}),
      ]);
      const movements = batches.flatMap(toMovements);
      const books = { messages, sends, reservations, settlements, wallets };
      const webhooks = { deliveries, failedDeliveries };
      return { ...books, ...webhooks, movements, left, parked: parked.map(asText) };
    },
    async close() {
      await nats.close();
      await client.close();
    },
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
