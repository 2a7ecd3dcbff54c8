import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../shared/core/errors.ts";
import { type Config, readConfig } from "../shared/io/config.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import { createOutbox } from "../shared/io/outbox.ts";
import { watchOutboxAge } from "../shared/io/outbox-age.ts";
import type { ServiceContext } from "../shared/io/service-context.ts";
import { createSenderIdNotices, toSenderIdEvent } from "./adapters/events.ts";
import { senderIdRoutes } from "./adapters/rpc.ts";
import { createSenderIdService, type Tenants } from "./app/sender-ids.ts";
import { SENDER_ID_SETTINGS } from "./config.ts";
import { createSenderIdStore } from "./store/sender-id-store.ts";

/** Reads the settings; throws `ConfigError` with every fault. */
export function readSettings(env: NodeJS.ProcessEnv): Config<typeof SENDER_ID_SETTINGS> {
  return readConfig(env, SENDER_ID_SETTINGS);
}

/** Opens, wires and serves the sender-ID service. */
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
  watchOutboxAge(context.metrics, "sender_id", outbox.backlog);

  const tenantClient = context.client(TenantService);
  const tenants: Tenants = {
    async isActive(tenantId) {
      const { tenant } = await tenantClient.getTenant({ idOrName: tenantId });
      // It would be found by its name, too.
      if (tenant?.id !== tenantId) throw new AppError("not_found", "There is no such tenant.");
      return !tenant.suspended;
    },
  };
  const store = createSenderIdStore({
    client: mongo.client,
    db: mongo.db,
    outbox,
    toEvent: toSenderIdEvent,
  });
  context.serve(
    senderIdRoutes(createSenderIdService(store, createSenderIdNotices(nats), tenants, clock)),
  );
}
