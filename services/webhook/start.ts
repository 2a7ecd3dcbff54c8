import { randomBytes } from "node:crypto";
import type { ClientSession } from "mongodb";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { startConsumer } from "../shared/io/consumer.ts";
import { createDeadLetters } from "../shared/io/dead-letters.ts";
import { createSecretBox } from "../shared/io/encryption.ts";
import { type Mongo, openMongo } from "../shared/io/mongo.ts";
import { type Nats, openNats } from "../shared/io/nats.ts";
import type { ServiceContext, StartService } from "../shared/io/service-context.ts";
import {
  createEventHandler,
  DURABLE,
  type EventHandler,
  hearStops,
  openStopNotes,
  SUBJECTS,
} from "./adapters/events.ts";
import { openSender } from "./adapters/http-client/create-http-client.ts";
import { createWebhookRpc } from "./adapters/rpc.ts";
import { createSecrets } from "./adapters/secrets.ts";
import { createLossLook } from "./adapters/stream-gaps.ts";
import { openEngine } from "./app/create-delivery-engine.ts";
import { deliverNotices } from "./app/deliver-events.ts";
import type { DeliveryParts } from "./app/delivery-management.ts";
import type { EndpointParts } from "./app/endpoint-management.ts";
import { instanceName } from "./app/lease-owner.ts";
import { checkUrl } from "./app/url-check.ts";
import { readWebhookConfig, type WebhookConfig } from "./config.ts";
import { attemptsOf } from "./domain/delivery.ts";
import { addWebhookGauges, createWebhookMetrics } from "./metrics.ts";
import { createDeliveries } from "./store/delivery-log.ts";
import { createEndpoints } from "./store/endpoints.ts";
import { createIdempotency } from "./store/idempotency.ts";
import { createDeliveryQueue } from "./store/queue.ts";

export { readWebhookConfig as readSettings } from "./config.ts";

/** While one batch is being written, the next one is read; its events would wait for nothing. */
const EVENT_LOOPS = 2;

/** A loop's batches keep this distance, so that they are worth their writes. */
const EVENT_PACE_MS = 50;

/**
 * A batch not acknowledged by then was left by a crash; one takes far less than a second. One that an
 * outage of the database holds up longer stays this process's as long as it is at work.
 */
const ACK_WAIT_MS = 4000;

/** Starts the webhook service; what is opened last closes first. */
export const start: StartService = async (context) => {
  const { clock, lifecycle, log, metrics } = context;
  const config = readWebhookConfig(context.env);
  const { WEBHOOK_RETENTION_MS: retentionMs } = config;
  const box = createSecretBox(config.ENCRYPTION_KEYS);
  const secrets = createSecrets(box);
  const attemptsMax = attemptsOf(config.WEBHOOK_RETRY_DELAYS_MS);
  const events = createWebhookMetrics(metrics);
  const mongo = await openDatabase(context, config);
  const nats = await openStream(context, config);
  const endpoints = createEndpoints(mongo.db);
  const queue = createDeliveryQueue(mongo.db, {
    retentionMs,
    owner: instanceName(config, context.env),
    redactDelivered: config.WEBHOOK_REDACT_DELIVERED,
  });
  const { sender, guard } = openSender(config, events);
  lifecycle.onClose("webhook sender", () => sender.close());

  const tellOthers = openStopNotes(nats.connection);
  const onStopped = (endpointId: string) => {
    engine.stop(endpointId);
    tellOthers(endpointId);
  };
  const engine = await openEngine({
    clock,
    log,
    config,
    events,
    sender,
    endpoints,
    queue,
    openSecret: secrets.openKey,
    onStopped,
    tellOperator(notice) {
      log.warn({ ...notice }, "a webhook endpoint needs attention");
      nats.connection.publish(`operator.webhook.${notice.kind}`, JSON.stringify(notice));
    },
  });
  lifecycle.onClose("webhook engine", () => engine.close());
  lifecycle.signal.addEventListener("abort", engine.storing.stop, { once: true });
  hearStops(nats.connection, engine.stop);
  await engine.dispatcher.looked;

  const delivering = { ...engine, clock, endpoints, queue, events, attemptsMax };
  const handle = createEventHandler((items) => deliverNotices(delivering, items));
  const deadLetters = createDeadLetters(mongo.db, handle);
  const { onEventsLost } = events;
  const consumer = consume(context, config, { mongo, nats, handle, onEventsLost });
  addWebhookGauges(metrics, {
    figures: () => engine.dispatcher.figures,
    eventLag: () => consumer.lag(),
    deadLetters: () => deadLetters.count(),
  });

  const managingEndpoints: EndpointParts<ClientSession> = {
    ...{ clock, log, queue, onStopped },
    store: endpoints,
    checkUrl: (url) => checkUrl(url, config.WEBHOOK_ALLOWED_PORTS, guard.vet),
    newSecret: () => `whsec_${randomBytes(32).toString("base64url")}`,
    sealSecret: secrets.seal,
  };
  const managingDeliveries: DeliveryParts<ClientSession> = {
    clock,
    endpoints,
    deliveries: createDeliveries(mongo.db, retentionMs),
    nudge: () => engine.dispatcher.nudge(),
    attemptsMax,
  };
  const rpc = createWebhookRpc({
    endpoints: managingEndpoints,
    deliveries: managingDeliveries,
    deadLetters,
    idempotency: createIdempotency(mongo.client, mongo.db, box, config.IDEMPOTENCY_TTL_MS),
  });
  context.serve((router) => router.service(WebhookService, rpc));
};

async function openDatabase(context: ServiceContext, config: WebhookConfig): Promise<Mongo> {
  const { lifecycle, log } = context;
  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_webhook`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("webhook MongoDB", () => mongo.close());
  lifecycle.addReadinessCheck("webhook MongoDB", () => mongo.ping());
  return mongo;
}

async function openStream(context: ServiceContext, config: WebhookConfig): Promise<Nats> {
  const { lifecycle, log } = context;
  const { signal } = lifecycle;
  const nats = await openNats({ url: config.NATS_URL, name: "webhook", log, signal });
  lifecycle.onClose("webhook NATS", () => nats.close());
  lifecycle.addReadinessCheck("webhook NATS", () => nats.ping());
  return nats;
}

function consume(
  context: ServiceContext,
  config: WebhookConfig,
  parts: {
    readonly mongo: Mongo;
    readonly nats: Nats;
    readonly handle: EventHandler;
    readonly onEventsLost: (count: number) => void;
  },
) {
  const { nats, onEventsLost: onLost } = parts;
  // Of a consumer of every subject, which alone is told what it would have been given.
  const beforeTaking = createLossLook({ nats, durable: DURABLE, log: context.log, onLost });
  const consumers = Array.from({ length: EVENT_LOOPS }, () =>
    startConsumer({
      nats,
      db: parts.mongo.db,
      durable: DURABLE,
      subjects: SUBJECTS,
      batchMax: config.WEBHOOK_EVENT_BATCH_MAX,
      ackWaitMs: ACK_WAIT_MS,
      minIntervalMs: EVENT_PACE_MS,
      log: context.log,
      handle: parts.handle,
      beforeTaking,
    }),
  );
  context.lifecycle.onClose("webhook events", async () => {
    await Promise.all(consumers.map((consumer) => consumer.close()));
  });
  return { lag: async () => (await consumers[0]?.lag()) ?? 0 };
}
