import { createServer } from "node:http";
import { hostname } from "node:os";
import { CampaignService } from "../proto/gen/sms/v1/campaign_pb.js";
import { ConsentService } from "../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../proto/gen/sms/v1/messaging_pb.js";
import { SenderIdService } from "../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../proto/gen/sms/v1/webhook_pb.js";
import { createWeightedSemaphore } from "../services/shared/flow/weighted-semaphore.ts";
import { type Config, readConfig } from "../services/shared/io/config.ts";
import { openNats } from "../services/shared/io/nats.ts";
import { openRedis, type Redis } from "../services/shared/io/redis.ts";
import type { ServiceContext } from "../services/shared/io/service-context.ts";
import { createApp } from "./app.ts";
import { createAuthenticator } from "./auth/authenticate.ts";
import { subscribeInvalidations } from "./auth/cache-invalidation.ts";
import { compileNetworks } from "./auth/caller-address.ts";
import { createCallerCache } from "./auth/caller-cache.ts";
import { createKeyLoader } from "./auth/key-loader.ts";
import { createSessionLoader } from "./auth/session-loader.ts";
import { GATEWAY_SETTINGS } from "./config.ts";
import { createConsole } from "./console/console.ts";
import { createPages } from "./docs/pages.ts";
import { createAccessLog } from "./http/access-log.ts";
import { createBodyBudget } from "./http/body-budget.ts";
import { createConnectionShares } from "./http/connection-shares.ts";
import { createCors } from "./http/cors.ts";
import { createLargeBodies } from "./http/large-bodies.ts";
import { createResponseBudget } from "./http/response-budget.ts";
import { listen, serverOptions } from "./http/server.ts";
import { createKeyLocks } from "./idempotency/lock.ts";
import { createCursors } from "./lists/cursor.ts";
import { createFast503 } from "./load-shedding/fast-503.ts";
import { createLoadLimiter } from "./load-shedding/load-limiter.ts";
import { createReadShares, type ReadShares } from "./load-shedding/read-shares.ts";
import { createOperations, type OperationPorts } from "./operations/all.ts";
import { EVENT_WAITS_MAX, EVENT_WAITS_PER_ACCOUNT } from "./operations/events.ts";
import { createSendBatcher } from "./operations/sends/send-batcher.ts";
import { createRateLimiter } from "./rate-limit/limiter.ts";
import { watchReplicas } from "./rate-limit/replica-count.ts";
import { createTestQuota } from "./rate-limit/test-quota.ts";

/** Longer than a stall of this process may last: a late response from Redis is better than the local fallback. */
const REDIS_TIMEOUT_MS = 1000;

type GatewayConfig = Config<typeof GATEWAY_SETTINGS>;

/** Reads the settings; throws `ConfigError` with every fault. */
export function readSettings(env: NodeJS.ProcessEnv): GatewayConfig {
  return readConfig(env, GATEWAY_SETTINGS);
}

/** Opens, wires and serves the REST gateway. */
export async function start(context: ServiceContext): Promise<void> {
  const { log, lifecycle } = context;
  const config = readSettings(context.env);

  const { redis, nats } = await openConnections(context, config);

  const addresses = publicAddresses(config);
  const tenants = context.client(TenantService);
  const keys = createCallerCache(createKeyLoader(tenants), config.AUTH_CACHE_MS);
  const sessions = createCallerCache(createSessionLoader(tenants), config.AUTH_CACHE_MS);
  subscribeInvalidations(nats, { keys, sessions });
  const ownOrigin = config.BASE_URL === "" ? "" : new URL(config.BASE_URL).origin;
  const authenticator = createAuthenticator({ keys, sessions, ownOrigin });
  const limits = createLimits(context, config, redis);
  const { loadLimiter, responses, reads } = limits;

  const ports = createPorts(context, config, { redis, reads });
  const operations = createOperations(ports, config.MESSAGE_SEND_SUNSET === "keep");

  const { docsUrl } = addresses;
  const accessLog = createAccessLog(context, config.ACCESS_LOG);
  const app = createApp({
    operations,
    pages: createPages(operations, addresses),
    console: createConsole({ ...limits, authenticator, tenants, ownOrigin }),
    cors: createCors(config.CORS_ORIGINS),
    ...limits,
    authenticator,
    docsUrl,
    log,
    onFinish: accessLog.onFinish,
  });
  const fast503 = createFast503({
    loadLimiter,
    operations,
    docsUrl,
    variesByOrigin: config.CORS_ORIGINS.length > 0,
    log,
    onRefused: accessLog.onRefused,
  });

  const server = createServer(serverOptions(config.BODY_TIMEOUT_MS));
  server.maxConnections = config.CONNECTIONS_MAX;
  server.on("connection", limits.connections.add);
  const http = await listen(server, {
    host: config.HOST,
    port: config.PORT,
    docsUrl,
    fast503,
    handle: app.callback(),
    responses,
    remainingCapacity: loadLimiter.remainingCapacity,
    isLeaving: () => lifecycle.state === "draining",
    onError: (error) => log.error({ error }, "a connection could not be accepted"),
  });
  lifecycle.onClose("HTTP server", () => http.close());
}

/** The limits on load, requests, bodies, responses and connections. */
function createLimits({ log, lifecycle }: ServiceContext, config: GatewayConfig, redis: Redis) {
  const loadLimiter = createLoadLimiter({
    requestsMax: config.REQUESTS_MAX,
    delayMaxMs: config.REQUEST_DELAY_MAX_MS,
    lagMaxMs: config.LOOP_LAG_MAX_MS,
  });
  lifecycle.onClose("load limiter", () => loadLimiter.close());
  const replicas = watchReplicas({
    peers: config.GATEWAY_PEERS,
    fallback: config.GATEWAY_REPLICAS,
    log,
  });
  lifecycle.onClose("gateway replicas", () => replicas.close());
  const isTrustedProxy = compileNetworks(config.TRUSTED_PROXIES);
  const perAddress = config.CONNECTIONS_PER_ADDRESS_MAX || Math.ceil(config.CONNECTIONS_MAX / 2);
  return {
    loadLimiter,
    rateLimiter: createRateLimiter(redis, replicas.count),
    isTrustedProxy,
    connections: createConnectionShares(perAddress, isTrustedProxy),
    bodyLimits: {
      bytesMax: config.BODY_BYTES_MAX,
      timeoutMs: config.BODY_TIMEOUT_MS,
      budget: createBodyBudget(),
    },
    largeBodies: createLargeBodies(),
    reads: createReadShares(),
    responses: createResponseBudget(),
  };
}

async function openConnections(context: ServiceContext, config: GatewayConfig) {
  const { log, lifecycle } = context;
  const redis = openRedis({ url: config.REDIS_URL, log, commandTimeoutMs: REDIS_TIMEOUT_MS });
  lifecycle.onClose("Redis", () => redis.disconnect());
  const nats = await openNats({
    url: config.NATS_URL,
    name: `gateway ${hostname()}`,
    log,
    signal: lifecycle.signal,
  });
  lifecycle.onClose("NATS", () => nats.close());
  return { redis, nats };
}

/** Statement files that a gateway writes at once: at most one for an account. */
const EXPORTS = { totalMax: 8, keyMax: 1, waitersMax: 1, waitMaxMs: 1000 } as const;

/** Requests that wait for events; a further one is refused at once. */
const EVENT_WAITS = {
  totalMax: EVENT_WAITS_MAX,
  keyMax: EVENT_WAITS_PER_ACCOUNT,
  waitersMax: 0,
  waitMaxMs: 0,
} as const;

/** The ports of the operations. */
function createPorts(
  context: ServiceContext,
  config: GatewayConfig,
  { redis, reads }: { readonly redis: Redis; readonly reads: ReadShares },
): OperationPorts {
  const messaging = context.client(MessagingService);
  return {
    messaging,
    sendOne: createSendBatcher(messaging),
    wallets: context.client(WalletService),
    senderIds: context.client(SenderIdService),
    tenants: context.client(TenantService),
    webhooks: context.client(WebhookService),
    campaigns: context.client(CampaignService),
    consent: context.client(ConsentService),
    keyLocks: createKeyLocks(redis),
    testQuota: createTestQuota(redis, config.TEST_MESSAGES_PER_DAY, context.clock),
    cursors: createCursors(config.CURSOR_KEY),
    clock: context.clock,
    sendTime: { minMs: config.SEND_AT_MIN_MS, maxMs: config.SEND_AT_MAX_MS },
    spanMaxMs: config.LIST_SPAN_MAX_MS,
    exports: createWeightedSemaphore(EXPORTS),
    waits: createWeightedSemaphore(EVENT_WAITS),
    reads,
    ending: context.lifecycle.signal,
  };
}

/** The public addresses in responses and documents, without a trailing slash. */
function publicAddresses(config: GatewayConfig): { baseUrl: string; docsUrl: string } {
  const { HOST } = config;
  const literal = HOST.includes(":") ? `[${HOST}]` : HOST;
  const host = /^(0\.0\.0\.0|::)$/.test(HOST) ? "localhost" : literal;
  const own = config.BASE_URL === "" ? `http://${host}:${config.PORT}` : config.BASE_URL;
  const docsUrl = config.DOCS_URL === "" ? `${own.replace(/\/+$/, "")}/docs` : config.DOCS_URL;
  return {
    baseUrl: config.BASE_URL === "" ? "/" : config.BASE_URL.replace(/\/+$/, ""),
    docsUrl: docsUrl.replace(/\/+$/, ""),
  };
}
