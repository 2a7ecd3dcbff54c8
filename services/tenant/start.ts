import { type AuditLog, createAuditLog } from "../shared/io/audit-log.ts";
import { type Config, ConfigError, readConfig } from "../shared/io/config.ts";
import { createSecretBox, type SecretBox } from "../shared/io/encryption.ts";
import { createKeyedAnswers } from "../shared/io/keyed-answers.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import type { ServiceContext } from "../shared/io/service-context.ts";
import { checkHandlers } from "./adapters/check-rpc.ts";
import { createTenantInvalidation } from "./adapters/events.ts";
import { identityHandlers } from "./adapters/identity-rpc.ts";
import { createMailer } from "./adapters/mailer.ts";
import { createOidcProvider } from "./adapters/oidc-provider.ts";
import { operatorHandlers } from "./adapters/operator-rpc.ts";
import { tenantRoutes } from "./adapters/rpc.ts";
import { createSealedAnswers } from "./adapters/sealed-answers.ts";
import { signInHandlers } from "./adapters/sign-in-rpc.ts";
import { createCheckService } from "./app/checks.ts";
import type { OidcProvider, SessionInvalidation } from "./app/identity-ports.ts";
import { linkAfterOidc } from "./app/oidc-link.ts";
import { createOidcSignInService } from "./app/oidc-sign-in.ts";
import { createOperatorService } from "./app/operators.ts";
import { createPeopleService } from "./app/people.ts";
import { createSecondFactorService } from "./app/second-factors.ts";
import { createSessionService } from "./app/sessions.ts";
import { createTenantService, type TenantService } from "./app/tenants.ts";
import { oidcFaults, TENANT_SETTINGS } from "./config.ts";
import { createCheckStore } from "./store/check-store.ts";
import { createOidcSignInStore } from "./store/oidc-sign-in-store.ts";
import { createOperatorStore } from "./store/operator-store.ts";
import { createPeopleStore } from "./store/people-store.ts";
import { createSecondFactorStore } from "./store/second-factor-store.ts";
import { createSessionStore } from "./store/session-store.ts";
import { createTenantStore } from "./store/tenant-store.ts";

/** Reads the settings; throws `ConfigError` that names every invalid one. */
export function readSettings(env: NodeJS.ProcessEnv): Config<typeof TENANT_SETTINGS> {
  const config = readConfig(env, TENANT_SETTINGS);
  const faults = oidcFaults(config);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
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

  const box = createSecretBox(config.ENCRYPTION_KEYS);
  const handlers = createIdentity(context, config, { mongo, audit, box, tenants, invalidation });
  const answers = createSealedAnswers(createKeyedAnswers(mongo.db, config.IDEMPOTENCY_TTL_MS), box);
  const operatorsUrl = withoutSlash(config.OPERATOR_CONSOLE_URL);
  const operators = createOperatorService({
    store: createOperatorStore(mongo.client, mongo.db, audit),
    linkUrl: linkTo(`${operatorsUrl}/operators`),
    clock,
  });
  const checks = checkHandlers(createCheckService(createCheckStore(mongo.db), clock));
  const provider = openProvider(config, "OPERATOR_", `${operatorsUrl}/operators`, { log, clock });
  const operatorOidc = createOidcSignInService({
    provider,
    store: createOidcSignInStore(mongo.db, box, "operator_oidc_sign_ins"),
    linkFor: operators.linkAfterOidc,
    clock,
  });
  const oidcName = provider === undefined ? "" : config.OPERATOR_OIDC_NAME;
  const operating = operatorHandlers(operators, operatorOidc, { oidcName });
  const identities = { ...handlers, ...operating, ...checks };
  context.serve(tenantRoutes(tenants, identities, audit, answers));
}

/** Makes the address of a link's token. The token is in the fragment: browsers keep it out of requests and logs. */
function linkTo(pages: string): (token: string) => string {
  return (token) => `${pages}/sign-in#${token}`;
}

/** The address without a slash at its end, so that a path can be appended. */
function withoutSlash(address: string): string {
  return address.replace(/\/+$/, "");
}

/** People, their sessions, and how they sign in. */
function createIdentity(
  { log, clock, lifecycle }: ServiceContext,
  config: Config<typeof TENANT_SETTINGS>,
  parts: {
    readonly mongo: Pick<Awaited<ReturnType<typeof openMongo>>, "client" | "db">;
    readonly audit: AuditLog;
    readonly box: SecretBox;
    readonly tenants: TenantService;
    readonly invalidation: SessionInvalidation;
  },
) {
  const { mongo, audit, box, tenants, invalidation } = parts;
  const mailer = createMailer({
    url: config.SMTP_URL,
    from: config.MAIL_FROM,
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("mail server", async () => mailer.close());
  const factorStore = createSecondFactorStore(mongo.client, mongo.db, audit, box);
  const people = createPeopleStore(mongo.client, mongo.db, audit);
  const sessions = createSessionStore(mongo.client, mongo.db, audit);
  const consoleUrl = withoutSlash(config.CONSOLE_URL);
  const factors = createSecondFactorService({
    store: factorStore,
    sessions,
    people,
    issuer: URL.parse(consoleUrl)?.host ?? "SMS console",
    clock,
  });
  const identity = {
    tenants,
    mailer,
    invalidation,
    linkUrl: linkTo(`${consoleUrl}/console`),
    clock,
  };
  const provider = openProvider(config, "", `${consoleUrl}/console`, { log, clock });
  const oidc = createOidcSignInService({
    provider,
    store: createOidcSignInStore(mongo.db, box),
    linkFor: (email) => linkAfterOidc({ people, sessions, clock }, email),
    clock,
  });
  return {
    ...identityHandlers(
      createPeopleService({ ...identity, store: people, factors: factorStore }),
      createSessionService({ ...identity, store: sessions, people, factors }),
    ),
    ...signInHandlers(factors, oidc, {
      email: config.SMTP_URL !== "",
      oidcName: provider === undefined ? "" : config.OIDC_NAME,
    }),
  };
}

/** Creates the OpenID Connect provider of the settings; undefined when they name none. */
function openProvider(
  config: Config<typeof TENANT_SETTINGS>,
  prefix: "" | "OPERATOR_",
  /** The address of the console's pages. */
  pages: string,
  context: Pick<ServiceContext, "log" | "clock">,
): OidcProvider | undefined {
  const issuer = config[`${prefix}OIDC_ISSUER`];
  if (issuer === "") return undefined;
  return createOidcProvider({
    ...context,
    issuer,
    clientId: config[`${prefix}OIDC_CLIENT_ID`],
    clientSecret: config[`${prefix}OIDC_CLIENT_SECRET`],
    clientAuth: config[`${prefix}OIDC_CLIENT_AUTH`],
    redirectUri: `${pages}/api/oidc/callback`,
  });
}
