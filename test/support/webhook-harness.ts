/** A webhook service in this process, with real MongoDB and NATS and its own database. */
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, type ConnectRouter, createClient } from "@connectrpc/connect";
import { ensureCertificates } from "../../deploy/dev/certificates.ts";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { type Event, EventSchema } from "../../proto/gen/sms/v1/events_pb.js";
import { MessageSource, MessageStatus } from "../../proto/gen/sms/v1/messaging_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { systemClock } from "../../services/shared/core/clock.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { createLifecycle } from "../../services/shared/io/lifecycle.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { createMetrics } from "../../services/shared/io/metrics.ts";
import { type Mongo, openMongo } from "../../services/shared/io/mongo.ts";
import { type Nats, openNats } from "../../services/shared/io/nats.ts";
import { publishAll } from "../../services/shared/io/publisher.ts";
import { createLocalTransport } from "../../services/shared/rpc/local-transport.ts";
import { migrate } from "../../services/webhook/migrate.ts";
import { start } from "../../services/webhook/start.ts";
import { ensureEventStream } from "./event-stream.ts";
import { freshDatabase } from "./fresh-names.ts";
import { idAt } from "./ids-at.ts";
import { startServers, type TestServers } from "./servers.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { startReceiver } from "./webhook-receiver.ts";

/** A key for tests: 32 zero bytes. */
export const TEST_ENCRYPTION_KEYS = `test:${Buffer.alloc(32).toString("base64")}`;

const log = createLogger("test", process.env.WEBHOOK_LOG ?? "silent");

/** Certificates for `localhost` from a certificate authority of this test run. */
export function testCertificates() {
  return ensureCertificates(temporaryFolder("webhook"));
}

export type WebhookHarness = Awaited<ReturnType<typeof openWebhooks>>;

/** The database and the stream that the webhook processes of a test share. */
export async function openWebhookStores(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  prefix: string,
): Promise<{ readonly mongo: Mongo; readonly nats: Nats; close(): Promise<void> }> {
  const mongo = await openMongo({ uri: servers.mongodbUri, database: `${prefix}_webhook`, log });
  await migrate(mongo.db);
  const nats = await openNats({ url: servers.natsUrl, name: "webhook test", log });
  await ensureEventStream(nats);
  return {
    mongo,
    nats,
    async close() {
      await nats.close();
      await mongo.db.dropDatabase();
      await mongo.close();
    },
  };
}

/** The stores of the enclosing `describe`, on servers of their own. */
export function useWebhookStores(): () => Awaited<ReturnType<typeof openWebhookStores>> {
  let servers: TestServers | undefined;
  let stores: Awaited<ReturnType<typeof openWebhookStores>> | undefined;
  before(async () => {
    servers = await startServers();
    stores = await openWebhookStores(servers, freshDatabase("webhook"));
  });
  after(async () => {
    await stores?.close();
    await servers?.stop();
  });
  return () => {
    if (stores === undefined) throw new Error("the stores are not open");
    return stores;
  };
}

/** Settings that let a service under test reach receivers on loopback. */
export function webhookSettings(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  prefix: string,
  ports: readonly number[],
  caFile: string,
): Record<string, string> {
  return {
    MONGODB_URI: servers.mongodbUri,
    MONGODB_PREFIX: prefix,
    NATS_URL: servers.natsUrl,
    ENCRYPTION_KEYS: TEST_ENCRYPTION_KEYS,
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128",
    WEBHOOK_ALLOWED_PORTS: ["443", "8443", ...ports.map(String)].join(","),
    WEBHOOK_CA_FILE: caFile,
  };
}

/** Opens one replica in this process; `settings` are its environment. */
export async function openWebhooks(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  options: {
    readonly ports: readonly number[];
    readonly caFile: string;
    readonly prefix?: string;
    readonly settings?: Readonly<Record<string, string>>;
  },
) {
  const prefix = options.prefix ?? freshDatabase("webhook");
  const stores = await openWebhookStores(servers, prefix);
  const lifecycle = createLifecycle({ log, drainDelayMs: 0, closeTimeoutMs: 15_000 });
  const metrics = createMetrics();
  const routes: ((router: ConnectRouter) => void)[] = [];
  await start({
    env: {
      ...webhookSettings(servers, prefix, options.ports, options.caFile),
      ...options.settings,
    },
    log,
    clock: systemClock,
    metrics,
    lifecycle,
    serve: (route) => void routes.push(route),
    client: () => {
      throw new Error("the webhook service calls no other service");
    },
    onOps: () => undefined,
  });
  lifecycle.markReady();
  const transport = createLocalTransport({
    routes: (router) => {
      for (const route of routes) route(router);
    },
  });
  const client: Client<typeof WebhookService> = createClient(WebhookService, transport);
  return {
    ...stores,
    prefix,
    client,
    metrics,
    publish: (events: readonly Event[]) => publishEvents(stores.nats, events),
    /** Ends the service alone, like a SIGTERM. */
    stop: () => lifecycle.close(),
    async close() {
      await lifecycle.close();
      await stores.close();
    },
  };
}

/** A webhook service and one receiver that it trusts, on their own servers. */
export async function openWebhooksAndReceiver(settings: Readonly<Record<string, string>> = {}) {
  const certificates = testCertificates();
  const closers: (() => Promise<unknown>)[] = [];
  async function close(): Promise<void> {
    for (const closeNext of closers.splice(0).reverse()) await closeNext();
  }
  try {
    const servers = await startServers();
    closers.push(() => servers.stop());
    const receiver = await startReceiver(certificates);
    closers.push(() => receiver.close());
    const { caFile } = certificates;
    const webhooks = await openWebhooks(servers, { ports: [receiver.port], caFile, settings });
    closers.push(() => webhooks.close());
    return { receiver, webhooks, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Publishes events as the services do. */
export async function publishEvents(nats: Nats, events: readonly Event[]): Promise<void> {
  await publishAll(
    nats.connection,
    events.map((event) => ({
      id: event.id,
      subject: `events.message.${event.tenantId}.test`,
      data: toBinary(EventSchema, event),
    })),
  );
}

/** A delivered message as messaging reports it, recorded when it happened. */
export function messageEvent(
  tenantId: string,
  about: {
    readonly id?: string;
    readonly mode?: Mode;
    readonly status?: MessageStatus;
    readonly source?: MessageSource;
    readonly occurredAtMs?: number;
    readonly body?: string;
  } = {},
): Event {
  const nowMs = about.occurredAtMs ?? Date.now();
  return create(EventSchema, {
    id:
      about.id ??
      (about.occurredAtMs === undefined ? newId("event") : idAt("event", about.occurredAtMs)),
    tenantId,
    occurredAtMs: BigInt(nowMs),
    payload: {
      case: "messageChanged",
      value: {
        previousStatus: MessageStatus.SENT,
        message: {
          id: newId("message"),
          tenantId,
          mode: about.mode ?? Mode.LIVE,
          source: about.source ?? MessageSource.API,
          status: about.status ?? MessageStatus.DELIVERED,
          to: "+2348031234567",
          from: "Acme",
          body: about.body ?? "Ünï ☂ “quoted” \u2028 text",
          segments: 1,
          heldAmount: 45_000n,
          unitPrice: 40_000n,
          amount: 40_000n,
          currency: "NGN",
          createdAtMs: BigInt(nowMs - 5000),
          sentAtMs: BigInt(nowMs - 2000),
          completedAtMs: BigInt(nowMs),
          updatedAtMs: BigInt(nowMs),
          reservationId: newId("reservation"),
        },
      },
    },
  });
}
