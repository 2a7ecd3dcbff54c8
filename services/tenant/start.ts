import { createAuditLog } from "../shared/io/audit-log.ts";
import { type Config, readConfig } from "../shared/io/config.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import type { ServiceContext } from "../shared/io/service-context.ts";
import { createTenantInvalidation } from "./adapters/events.ts";
import { tenantRoutes } from "./adapters/rpc.ts";
import { createTenantService } from "./app/tenants.ts";
import { TENANT_SETTINGS } from "./config.ts";
import { createTenantStore } from "./store/tenant-store.ts";

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readSettings(env: NodeJS.ProcessEnv): Config<typeof TENANT_SETTINGS> {
  return readConfig(env, TENANT_SETTINGS);
}

/** Starts the tenant service. */
export async function start(context: ServiceContext): Promise<void> {
  const { env, log, clock, lifecycle } = context;
  const config = readSettings(env);

  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_tenant`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("tenant database", () => mongo.close());
  lifecycle.addReadinessCheck("tenant database", () => mongo.ping());

  const nats = await openNats({
    url: config.NATS_URL,
    name: "tenant",
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("tenant cache invalidation", () => nats.close());

  const audit = createAuditLog(mongo.db, config.AUDIT_KEEP_MS);
  const service = createTenantService(
    createTenantStore(mongo.client, mongo.db, audit),
    createTenantInvalidation(nats),
    clock,
  );
  context.serve(tenantRoutes(service, audit));
}
