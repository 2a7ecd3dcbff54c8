import { createAuditLog } from "../shared/io/audit-log.ts";
import { type Config, readConfig } from "../shared/io/config.ts";
import { createSecretBox } from "../shared/io/encryption.ts";
import { createKeyedAnswers } from "../shared/io/keyed-answers.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import type { ServiceContext } from "../shared/io/service-context.ts";
import { createTenantInvalidation } from "./adapters/events.ts";
import { identityHandlers } from "./adapters/identity-rpc.ts";
import { createMailer } from "./adapters/mailer.ts";
import { tenantRoutes } from "./adapters/rpc.ts";
import { createSealedAnswers } from "./adapters/sealed-answers.ts";
import { createPeopleService } from "./app/people.ts";
import { createSessionService } from "./app/sessions.ts";
import { createTenantService } from "./app/tenants.ts";
import { TENANT_SETTINGS } from "./config.ts";
import { createPeopleStore } from "./store/people-store.ts";
import { createSessionStore } from "./store/session-store.ts";
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
  const invalidation = createTenantInvalidation(nats);
  const tenants = createTenantService(
    createTenantStore(mongo.client, mongo.db, audit, config.IDEMPOTENCY_TTL_MS),
    invalidation,
    clock,
  );

  const mailer = createMailer({
    url: config.SMTP_URL,
    from: config.MAIL_FROM,
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("mail server", async () => mailer.close());
  const people = createPeopleStore(mongo.client, mongo.db, audit);
  const consoleUrl = config.CONSOLE_URL.replace(/\/+$/, "");
  const identity = {
    tenants,
    mailer,
    invalidation,
    // The token is in the fragment: browsers keep it out of requests, logs and Referer headers.
    linkUrl: (token: string) => `${consoleUrl}/console/sign-in#${token}`,
    clock,
  };
  const handlers = identityHandlers(
    createPeopleService({ ...identity, store: people }),
    createSessionService({
      ...identity,
      store: createSessionStore(mongo.client, mongo.db, audit),
      people,
    }),
  );
  const answers = createSealedAnswers(
    createKeyedAnswers(mongo.db, config.IDEMPOTENCY_TTL_MS),
    createSecretBox(config.ENCRYPTION_KEYS),
  );
  context.serve(tenantRoutes(tenants, handlers, audit, answers));
}
