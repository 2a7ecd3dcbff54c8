/** The axes of growth, each as far as a test stack can show it. */
import { MongoClient } from "mongodb";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { deliveryId } from "../../services/webhook/domain/deterministic-ids.ts";
import { createDeliveryQueue } from "../../services/webhook/store/queue.ts";
import { addConnectors } from "./growth-connectors.ts";
import { addEndpoints, addTenants, sendByTurn } from "./growth-parties.ts";
import { seedHistory } from "./history.ts";

/** One way to grow. */
export type Axis = {
  readonly what: string;
  readonly points: readonly number[];
  /** Grows the stack from one size to the next. */
  grow(stack: StackFile, from: number, to: number): Promise<void>;
  /** The sends that go through all of it; those of the demo tenant unless given. */
  sender?(stack: StackFile): (at: number) => Buffer;
};

const COUNT = Number(process.env.COUNT ?? 1_000_000);
const HOUR_MS = 3_600_000;
const BATCH = 1000;
const WAITING_ENDPOINTS = 200;

/** By the name that AXES knows. */
export const AXES: Readonly<Record<string, Axis>> = {
  messages: {
    what: "stored messages",
    points: [10_000, 100_000, 1_000_000, 10_000_000].filter((count) => count <= COUNT),
    grow: history,
  },
  tenants: {
    what: "tenants, of which one sends",
    points: [1, 100, 10_000],
    grow: addTenants,
  },
  "tenants-spread": {
    what: "tenants that send by turn",
    points: [1, 10, 100, 1000, 10_000],
    grow: addTenants,
    sender: sendByTurn,
  },
  endpoints: {
    what: "webhook endpoints",
    points: [1, 100, 1000, 10_000],
    grow: addEndpoints,
  },
  connectors: {
    what: "connectors that share the messages",
    points: [1, 10, 50],
    grow: addConnectors,
  },
  retries: {
    what: "waiting retries",
    points: [0, 10_000, 100_000, 1_000_000].filter((count) => count <= COUNT),
    grow: addWaitingRetries,
  },
};

async function withMongo<T>(stack: StackFile, work: (client: MongoClient) => Promise<T>) {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

async function history(stack: StackFile, from: number, to: number): Promise<void> {
  const { tenant_id: tenantId, sender_id: senderId } = stack;
  await withMongo(stack, (client) => seedHistory(client, { tenantId, senderId, from, count: to }));
}

/** Deliveries that wait for an hour, as an outage of many endpoints would leave them. */
async function addWaitingRetries(stack: StackFile, from: number, to: number): Promise<void> {
  await withMongo(stack, async (client) => {
    const options = { retentionMs: 24 * HOUR_MS, owner: "", redactDelivered: false };
    const queue = createDeliveryQueue(client.db("sms_webhook"), options);
    for (let at = from; at < to; at += BATCH) {
      const size = Math.min(BATCH, to - at);
      await queue.insert(Array.from({ length: size }, (_, index) => waitingRetry(at + index)));
    }
  });
}

function waitingRetry(at: number) {
  const eventId = newId("event");
  const endpointId = `whe_waiting_${at % WAITING_ENDPOINTS}`;
  const nowMs = Date.now();
  return {
    id: deliveryId(eventId, endpointId),
    tenantId: `ten_waiting_${at % WAITING_ENDPOINTS}`,
    endpointId,
    eventId,
    eventType: "message.status_changed",
    body: "{}".padEnd(700, " "),
    attemptsLeft: 3,
    createdAtMs: nowMs,
    activatedAtMs: nowMs,
    dueAtMs: nowMs + HOUR_MS,
    lease: undefined,
  };
}
