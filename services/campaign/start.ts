import { randomUUID } from "node:crypto";
import { CampaignService } from "../../proto/gen/sms/v1/campaign_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createAuditLog } from "../shared/io/audit-log.ts";
import { startConsumer } from "../shared/io/consumer.ts";
import { createDeadLetters } from "../shared/io/dead-letters.ts";
import { createKeyedAnswers } from "../shared/io/keyed-answers.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import { createOutbox } from "../shared/io/outbox.ts";
import type { ServiceContext, StartService } from "../shared/io/service-context.ts";
import { createTenants, createWallets } from "./adapters/clients.ts";
import {
  createMessageHandler,
  MESSAGES_DURABLE,
  MESSAGES_SUBJECTS,
  toCampaignEvent,
} from "./adapters/events.ts";
import { createMessagingClient } from "./adapters/messaging-client.ts";
import { createCampaignRpc } from "./adapters/rpc.ts";
import { type CampaignConfig, readCampaignConfig } from "./config.ts";
import { openCampaigns } from "./create-campaigns.ts";
import { createCampaignMetrics, registerMetrics } from "./metrics.ts";
import { createCampaignStore } from "./store/campaign-store.ts";

export { readCampaignConfig as readSettings } from "./config.ts";

/**
 * Minimum interval between batches of events: larger batches need fewer transactions, and a message that is sent and
 * delivered in one batch writes its row once. Counts may be 5 s old (docs/contract.md#campaigns).
 */
const EVENT_INTERVAL_MS = 2000;
/** While a campaign starts, the feeder needs its first counts to know how fast the carriers are. */
const FIRST_EVENTS_INTERVAL_MS = 200;
/** A killed process leaves its batch unacknowledged: it is redelivered after this long. */
const ACK_WAIT_MS = 6000;

/** Starts the campaign service: database, event stream, RPCs, consumer, feeder and sweepers. */
export const start: StartService = async (context) => {
  const { log, clock, lifecycle } = context;
  const config = readCampaignConfig(context.env);
  const { mongo, nats } = await openServers(context, config);
  const outbox = createOutbox({ db: mongo.db, nats, log });
  lifecycle.onClose("campaign outbox", () => outbox.close());
  const audit = createAuditLog(mongo.db, config.AUDIT_KEEP_MS);
  const store = createCampaignStore({
    client: mongo.client,
    db: mongo.db,
    outbox,
    encodeEvent: toCampaignEvent,
    keyTtlMs: config.IDEMPOTENCY_TTL_MS,
    audit,
  });
  const useCases = openCampaigns(
    {
      store,
      messaging: createMessagingClient(context.client(MessagingService)),
      wallets: createWallets(context.client(WalletService)),
      tenants: createTenants(context.client(TenantService)),
      clock,
      log,
      owner: randomUUID(),
      onChunk: createCampaignMetrics(context.metrics).onChunk,
    },
    config,
  );
  lifecycle.onClose("campaign feeder", () => useCases.close());
  const idempotency = createKeyedAnswers(mongo.db, config.IDEMPOTENCY_TTL_MS);
  const handle = createMessageHandler(useCases.follow);
  const deadLetters = createDeadLetters(mongo.db, handle);
  const rpc = createCampaignRpc({ ...useCases, store, idempotency, deadLetters, audit });
  context.serve((router) => void router.service(CampaignService, rpc));
  const consumer = startConsumer({
    nats,
    db: mongo.db,
    durable: MESSAGES_DURABLE,
    subjects: MESSAGES_SUBJECTS,
    batchMax: config.CAMPAIGN_EVENT_BATCH_MAX,
    ackWaitMs: ACK_WAIT_MS,
    minIntervalMs: () => (useCases.isStarting() ? FIRST_EVENTS_INTERVAL_MS : EVENT_INTERVAL_MS),
    log,
    handle,
  });
  lifecycle.onClose("campaign events", () => consumer.close());
  registerMetrics(context.metrics, {
    outbox,
    eventLag: () => consumer.lag(),
    deadLetters: () => deadLetters.count(),
    feeding: useCases.feeding,
  });
};

/** Opens the database and the event stream. Readiness depends on both. */
async function openServers({ log, lifecycle }: ServiceContext, config: CampaignConfig) {
  const { signal } = lifecycle;
  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_campaign`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal,
  });
  lifecycle.onClose("campaign database", () => mongo.close());
  lifecycle.addReadinessCheck("campaign database", () => mongo.ping());
  const nats = await openNats({ url: config.NATS_URL, name: "campaign", log, signal });
  lifecycle.onClose("campaign events", () => nats.close());
  lifecycle.addReadinessCheck("campaign events", () => nats.ping());
  return { mongo, nats };
}
