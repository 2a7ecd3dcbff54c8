import { randomBytes } from "node:crypto";
import type { ClientSession } from "mongodb";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { createAuditLog } from "../shared/io/audit-log.ts";
import { startConsumer } from "../shared/io/consumer.ts";
import { createDeadLetters } from "../shared/io/dead-letters.ts";
import { createSecretBox } from "../shared/io/encryption.ts";
import { type Mongo, openMongo } from "../shared/io/mongo.ts";
import { type Nats, openNats } from "../shared/io/nats.ts";
import type { ServiceContext, StartService } from "../shared/io/service-context.ts";
import { attemptTracer } from "./adapters/attempt-span.ts";
import { createEventLog } from "./adapters/event-log.ts";
import { createEventHandler, DURABLE, type EventHandler, SUBJECTS } from "./adapters/events.ts";
import { openHttpClient } from "./adapters/http-client/open-http-client.ts";
import { leaseOwner } from "./adapters/lease-owner.ts";
import {
  createOperatorAlerts,
  createStopPublisher,
  subscribeStops,
} from "./adapters/notifications.ts";
import { createWebhookRpc } from "./adapters/rpc.ts";
import { createSecrets } from "./adapters/secrets.ts";
import { createGapCheck } from "./adapters/stream-gaps.ts";
import { createDeliveryEngine, type EngineSettings } from "./app/create-delivery-engine.ts";
import { deliverEvents } from "./app/deliver-events.ts";
import type { DeliveryParts } from "./app/delivery-management.ts";
import type { EndpointParts } from "./app/endpoint-management.ts";
import { checkUrl } from "./app/url-check.ts";
import { readWebhookConfig, type WebhookConfig } from "./config.ts";
import { attemptsOf } from "./domain/delivery.ts";
import { addWebhookGauges, createWebhookMetrics } from "./metrics.ts";
import { createDeliveries } from "./store/delivery-log.ts";
import { createEndpoints } from "./store/endpoints.ts";
import { createIdempotency } from "./store/idempotency.ts";
import { createDeliveryQueue } from "./store/queue.ts";

export { readWebhookConfig as readSettings } from "./config.ts";

/** Two loops: one reads the next batch while the other writes. */
const EVENT_LOOPS = 2;

/** Minimum interval between the batches of a loop: larger batches need fewer writes. */
const EVENT_PACE_MS = 50;

/**
 * An unacknowledged batch is redelivered after this time: its process crashed. A batch takes far less
 * than a second; during an outage of the database the process keeps extending the time.
 */
const ACK_WAIT_MS = 4000;

/** Opens, wires and serves; resources close in reverse order of opening. */
export const start: StartService = async (context) => {
  const { clock, lifecycle, log, metrics } = context;
  const config = readWebhookConfig(context.env);
  const { WEBHOOK_RETENTION_MS: retentionMs } = config;
  const box = createSecretBox(config.ENCRYPTION_KEYS);
  const secrets = createSecrets(box);
  const attemptsMax = attemptsOf(config.WEBHOOK_RETRY_DELAYS_MS);
  const webhookMetrics = createWebhookMetrics(metrics);
  const mongo = await openDatabase(context, config);
  const nats = await openStream(context, config);
  const audit = createAuditLog(mongo.db, config.AUDIT_KEEP_MS);
  const endpoints = createEndpoints(mongo.client, mongo.db, audit);
  const queue = createDeliveryQueue(mongo.db, {
    retentionMs,
    owner: leaseOwner(config, context.env),
    redactDelivered: config.WEBHOOK_REDACT_DELIVERED,
  });
  const { httpClient, guard } = openHttpClient(config, webhookMetrics);
  lifecycle.onClose("webhook sender", () => httpClient.close());

  const engine = await createDeliveryEngine({
    ...{ clock, log, metrics: webhookMetrics, httpClient, endpoints, queue },
    settings: engineSettings(config),
    tracer: attemptTracer,
    openSecret: secrets.openKey,
    alerts: createOperatorAlerts(nats.connection, log),
    stopPublisher: createStopPublisher(nats.connection),
  });
  lifecycle.onClose("webhook engine", () => engine.close());
  lifecycle.signal.addEventListener("abort", engine.insertRetry.stop, { once: true });
  subscribeStops(nats.connection, engine.stopHere);
  await engine.dispatcher.firstPollDone;

  const delivering = { ...engine, clock, endpoints, queue, metrics: webhookMetrics, attemptsMax };
  const handle = createEventHandler((items) => deliverEvents(delivering, items));
  const deadLetters = createDeadLetters(mongo.db, handle);
  const { onEventsLost } = webhookMetrics;
  const consumer = consume(context, config, { mongo, nats, handle, onEventsLost });
  addWebhookGauges(metrics, {
    figures: () => engine.dispatcher.figures,
    eventLag: () => consumer.lag(),
    deadLetters: () => deadLetters.count(),
  });

  const managingEndpoints: EndpointParts<ClientSession> = {
    ...{ clock, log, queue, stopper: engine.stopper },
    store: endpoints,
    checkUrl: (url) => checkUrl(url, config.WEBHOOK_ALLOWED_PORTS, guard.checkHost),
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
  const events = { log: createEventLog(nats), box, clock, ending: lifecycle.signal };
  const rpc = createWebhookRpc({
    events,
    endpoints: managingEndpoints,
    deliveries: managingDeliveries,
    deadLetters,
    audit,
    idempotency: createIdempotency(mongo.client, mongo.db, box, config.IDEMPOTENCY_TTL_MS),
  });
  context.serve((router) => router.service(WebhookService, rpc));
};

function engineSettings(config: WebhookConfig): EngineSettings {
  return {
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
    retryDelaysMs: config.WEBHOOK_RETRY_DELAYS_MS,
    disableAfterMs: config.WEBHOOK_DISABLE_AFTER_MS,
    allowedPorts: config.WEBHOOK_ALLOWED_PORTS,
    endpointConcurrency: config.WEBHOOK_ENDPOINT_CONCURRENCY,
    tenantConcurrency: config.WEBHOOK_TENANT_CONCURRENCY,
    totalConcurrency: config.WEBHOOK_TOTAL_CONCURRENCY,
    pollIntervalMs: config.WEBHOOK_POLL_INTERVAL_MS,
  };
}

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
  // A consumer of every subject can count gaps by sequence numbers alone.
  const beforeTaking = createGapCheck({ nats, durable: DURABLE, log: context.log, onLost });
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
