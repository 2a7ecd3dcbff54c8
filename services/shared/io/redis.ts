import { Redis } from "ioredis";
import type { Logger } from "../core/logger.ts";
import { backoffMs } from "../flow/backoff.ts";
import { createRedisConnector } from "../vendor/redis-connector.ts";
import { createAddressOrder } from "./address-order.ts";
import { CONNECT_TIMEOUT_MS } from "./process-defaults.ts";
import { tlsContents, tlsFilesOf } from "./tls-files.ts";

export type { Redis } from "ioredis";

/** The minimum interval of reconnects to find a new primary, after a server has become a replica. */
const DEMOTED_PAUSE_MS = 5000;

/** The time without an answer after which the connection counts as lost. */
const SILENCE_MAX_MS = 5000;

/**
 * Opens Redis without waiting for it. While it is away, commands fail at once (every caller has a local
 * fallback) and the client reconnects with backoff for ever.
 */
export function openRedis(options: {
  readonly url: string;
  readonly log: Logger;
  readonly commandTimeoutMs?: number;
}): Redis {
  const { url, log, commandTimeoutMs = 250 } = options;
  const files = tlsFilesOf(process.env, "REDIS");
  let demotedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * The server would refuse each command while the connection lasts, and only a reconnect ends that.
   */
  function isDemoted({ message }: Error): boolean {
    const nowMs = performance.now();
    if (!message.includes("READONLY") || nowMs - demotedAtMs < DEMOTED_PAUSE_MS) return false;
    demotedAtMs = nowMs;
    log.warn("Redis is a replica now; reconnecting");
    return true;
  }

  const isTls = files !== undefined || url.startsWith("rediss:");
  const addresses = createAddressOrder();
  const { Connector, socket } = createRedisConnector(addresses.lookup);
  const redis = new Redis(url, {
    Connector,
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED in the environment would disable it.
    ...(isTls ? { tls: { ...(files && tlsContents(files)), rejectUnauthorized: true } } : {}),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    // The addresses of a name share this timeout: the client passes Node no timeout for a single address.
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Detects a dead peer, so that the client reconnects.
    socketTimeout: SILENCE_MAX_MS,
    enableAutoPipelining: true,
    reconnectOnError: isDemoted,
    retryStrategy: (attempt) => backoffMs(attempt, 50, 2000),
    lazyConnect: false,
  });
  let isReady = false;
  redis.on("close", () => {
    if (!isReady) addresses.skip(addresses.turn);
    isReady = false;
  });
  let isUp = true;
  redis.on("error", (error) => {
    if (isUp) log.warn({ error }, "Redis is away");
    isUp = false;
  });
  redis.on("ready", () => {
    isReady = true;
    addresses.prefer(socket()?.remoteAddress);
    if (!isUp) log.info("Redis is back");
    isUp = true;
  });
  return redis;
}
