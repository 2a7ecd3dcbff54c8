/** Reads the databases directly, for the checks to compare with the customers' records. */
import { type Db, MongoClient } from "mongodb";
import { connect } from "nats";
import { EVENT_STREAM } from "../../services/shared/io/nats.ts";
import { SETTLE_DURABLE } from "../../services/wallet/adapters/events.ts";
import { DURABLE } from "../../services/webhook/adapters/events.ts";
import { readCounters } from "../support/simulator-control.ts";

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

/** A message's failure code; undefined when nothing failed. */
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

/** The settlement of one message. */
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

/** A webhook delivery that has used its retry schedule. */
export type FailedDelivery = {
  readonly endpoint_id: string;
  readonly attempts: readonly { readonly error: string }[];
  /** The request body. */
  readonly body: string;
};

/** Everything at rest. */
export type StoredData = {
  readonly messages: readonly MessageRow[];
  readonly sends: readonly SendRow[];
  readonly reservations: readonly ReservationRow[];
  readonly settlements: readonly SettlementRow[];
  readonly wallets: readonly WalletRow[];
  readonly movements: readonly MovementRow[];
  /** The number of webhook deliveries. */
  readonly deliveries: number;
  /** Those to healthy endpoints that failed. */
  readonly failedDeliveries: readonly FailedDelivery[];
  /** Unmatched receipts, as text: the service retries them with backoff. */
  readonly parked: readonly string[];
  /** Documents that should not remain, by collection: outboxes and dead letters. */
  readonly left: Readonly<Record<string, number>>;
};

/** Counts of unfinished work; the system is idle when all are zero. */
export type Open = {
  readonly messages: number;
  /** Receipts that the carriers have not delivered, or not sent yet: they may still change a message. */
  readonly receipts: number;
  readonly reservations: number;
  readonly deliveries: number;
  /** Deliveries to endpoints that let every attempt time out. */
  readonly hanging: number;
  readonly outbox: number;
  /** Published events that no consumer has acknowledged. */
  readonly events: number;
};

/** The consumers of events. */
const CONSUMERS = [DURABLE, SETTLE_DURABLE];

const OUTBOXES = [
  ...["sms_messaging", "sms_wallet", "sms_tenant", "sms_sender_id", "sms_webhook"],
  "sms_campaign",
];

/** The service's databases, read without the service. */
export type DatabaseReader = {
  /** The unfinished work of these tenants; `hanging` are their hanging endpoints. */
  open(tenantIds: readonly string[], hangingIds: readonly string[]): Promise<Open>;
  /** All data at rest, with the failed deliveries of these healthy endpoints. */
  read(healthyIds: readonly string[]): Promise<StoredData>;
  close(): Promise<void>;
};

/**
 * Opens the databases, the event stream and the control ports of the carriers at their own addresses, bypassing every
 * proxy.
 */
export async function openDatabaseReader(
  mongodbUri: string,
  natsUrl: string,
  carrierControls: readonly string[],
): Promise<DatabaseReader> {
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

  async function countReceipts(): Promise<number> {
    const counters = await Promise.all(carrierControls.map(readCounters));
    return counters.reduce((sum, { waiting }) => sum + waiting, 0);
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
      // In the order in which an event moves, so that work in motion is counted at a later step.
      const messages = await messaging.collection("messages").countDocuments({ tenant_id, status });
      const receipts = await countReceipts();
      const outbox = Object.entries(await countLeft())
        .filter(([name]) => name.endsWith(".outbox"))
        .reduce((sum, [, count]) => sum + count, 0);
      const events = await countUnhandled();
      const isOpen = { tenant_id, open_amount: { $gt: 0n } };
      const reservations = await wallet.collection("reservations").countDocuments(isOpen);
      const deliveries = await pendingAt({ $nin: [...hangingIds] });
      const hanging = await pendingAt({ $in: [...hangingIds] });
      return { messages, receipts, reservations, deliveries, hanging, outbox, events };
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
      const storedData = { messages, sends, reservations, settlements, wallets };
      const webhooks = { deliveries, failedDeliveries };
      return { ...storedData, ...webhooks, movements, left, parked: parked.map(asText) };
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
