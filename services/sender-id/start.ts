import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { createAuditLog } from "../shared/io/audit-log.ts";
import { type Config, readConfig } from "../shared/io/config.ts";
import { createKeyedAnswers } from "../shared/io/keyed-answers.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import { createOutbox } from "../shared/io/outbox.ts";
import type { ServiceContext } from "../shared/io/service-context.ts";
import { createSenderIdInvalidation, toSenderIdEvent } from "./adapters/events.ts";
import { senderIdRoutes } from "./adapters/rpc.ts";
import { createTenantDirectory } from "./adapters/tenant-client.ts";
import { createSenderIdService } from "./app/sender-ids.ts";
import { SENDER_ID_SETTINGS } from "./config.ts";
import { registerMetrics } from "./metrics.ts";
import { createSenderIdStore } from "./store/sender-id-store.ts";

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readSettings(env: NodeJS.ProcessEnv): Config<typeof SENDER_ID_SETTINGS> {
  return readConfig(env, SENDER_ID_SETTINGS);
}

/** Starts the sender-ID service. */
export async function start(context: ServiceContext): Promise<void> {
  const { env, log, clock, lifecycle } = context;
  const config = readSettings(env);

  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_sender_id`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("sender-ID database", () => mongo.close());
  lifecycle.addReadinessCheck("sender-ID database", () => mongo.ping());

  const nats = await openNats({
    url: config.NATS_URL,
    name: "sender-id",
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("sender-ID events", () => nats.close());

  const outbox = createOutbox({ db: mongo.db, nats, log });
  lifecycle.onClose("sender-ID outbox", () => outbox.close());
  registerMetrics(context.metrics, outbox);

  const tenants = createTenantDirectory(context.client(TenantService));
  const audit = createAuditLog(mongo.db, config.AUDIT_KEEP_MS);
  const store = createSenderIdStore({
    client: mongo.client,
    db: mongo.db,
    outbox,
    audit,
    encodeEvent: toSenderIdEvent,
    keyTtlMs: config.IDEMPOTENCY_TTL_MS,
  });
  const invalidation = createSenderIdInvalidation(nats);
  const service = createSenderIdService(store, invalidation, tenants, clock);
  const idempotency = createKeyedAnswers(mongo.db, config.IDEMPOTENCY_TTL_MS);
  context.serve(senderIdRoutes(service, audit, idempotency));
}
