import { Redis } from "ioredis";
import type { Logger } from "../core/logger.ts";
import { backoffMs } from "../flow/backoff.ts";
import { tlsContents, tlsFilesOf } from "./tls-files.ts";

export type { Redis } from "ioredis";

/** A server that has become a replica is left for the primary, no more often than this. */
const DEMOTED_PAUSE_MS = 5000;

/** How long Redis may leave a command unanswered before the connection counts as lost. */
const SILENCE_MAX_MS = 5000;

/**
 * Opens Redis. It is never waited for: commands fail at once while it is away (callers have a
 * local fallback each), and the connection is tried again for ever with back-off.
 */
export function openRedis(options: {
  readonly url: string;
  readonly log: Logger;
  readonly commandTimeoutMs?: number;
}): Redis {
  const { url, log, commandTimeoutMs = 250 } = options;
  const files = tlsFilesOf(process.env, "REDIS");
  let demotedAtMs = Number.NEGATIVE_INFINITY;

  /** Each command would be refused for as long as the connection stands, which nothing else ends. */
  function isDemoted({ message }: Error): boolean {
    const nowMs = performance.now();
    if (!message.includes("READONLY") || nowMs - demotedAtMs < DEMOTED_PAUSE_MS) return false;
    demotedAtMs = nowMs;
    log.warn("Redis is a replica now; the connection is dialled anew");
    return true;
  }

  const redis = new Redis(url, {
    ...(files === undefined ? {} : { tls: tlsContents(files) }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2000,
    // A peer that is gone without a word is noticed, and dialled anew.
    socketTimeout: SILENCE_MAX_MS,
    enableAutoPipelining: true,
    reconnectOnError: isDemoted,
    retryStrategy: (attempt) => backoffMs(attempt, 50, 2000),
    lazyConnect: false,
  });
  let isUp = true;
  redis.on("error", (error) => {
    if (isUp) log.warn({ error }, "Redis is away");
    isUp = false;
  });
  redis.on("ready", () => {
    if (!isUp) log.info("Redis is back");
    isUp = true;
  });
  return redis;
}
