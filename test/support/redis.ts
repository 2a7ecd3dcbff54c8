/** A connection to the run's Redis, opened before and closed after the suites of a file. */
import { pino } from "pino";
import { openRedis, type Redis } from "../../services/shared/io/redis.ts";
import { eventually } from "./poll.ts";
import { startServers, type TestServers } from "./servers.ts";

const log = pino({ level: "silent" });

/** Registers the hooks; the function returns the connection once a test runs. */
export function useRedis(): () => Redis {
  let servers: TestServers | undefined;
  let redis: Redis | undefined;
  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    const opened = openRedis({ url: servers.redisUrl, log });
    redis = opened;
    await eventually(() => opened.status === "ready");
  });
  after(async () => {
    redis?.disconnect();
    await servers?.stop();
  });
  return () => {
    if (redis === undefined) throw new Error("Redis is opened by the hook before the tests");
    return redis;
  };
}

/** A connection to an address where no Redis listens. */
export function openAwayRedis(): Redis {
  return openRedis({ url: "redis://127.0.0.1:1", log });
}
