import { Redis } from "ioredis";
import { backoffMs } from "./backoff.ts";
import type { Logger } from "./log.ts";
import { tlsContents, tlsFilesOf } from "./tls-files.ts";

export type { Redis } from "ioredis";

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
  const redis = new Redis(url, {
    ...(files === undefined ? {} : { tls: tlsContents(files) }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2000,
    // A peer that is gone without a word is noticed, and dialled anew.
    socketTimeout: SILENCE_MAX_MS,
    enableAutoPipelining: true,
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
