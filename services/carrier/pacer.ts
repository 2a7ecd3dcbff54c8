import type { Logger } from "../shared/io/log.ts";
import type { Redis } from "../shared/io/redis.ts";
import { type Grant, grantMax, intervalUs, TOLERANCE_MS, takePlaces } from "./domain/pacing.ts";

/** Keeps one connector's submits within its rate, over all binds and replicas. */
export type Pacer = {
  /** Asks for at most so many submits now. Grants are for immediate use. */
  ask(wanted: number): Promise<Grant>;
};

/**
 * The same decision as `takePlaces`, with the line kept in Redis and Redis's own clock, so replicas
 * share one line whatever their clocks say. KEYS[1] the line; ARGV: interval and tolerance in
 * microseconds, submits wanted. Answers how many, and microseconds until the next place.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, tolerance, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local from = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now - tolerance)
local count = 0
if from <= now then count = math.min(wanted, math.floor((now - from) / interval) + 1) end
local after = from + count * interval
if count > 0 then redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', 60000) end
return {count, math.max(0, math.floor(after - now))}
`;

/** Makes a pacer. While Redis is away each replica keeps to its share of the rate by itself. */
export function createPacer(options: {
  readonly redis: Redis;
  readonly key: string;
  readonly ratePerSecond: number;
  readonly replicas: () => number;
  readonly log: Logger;
}): Pacer {
  const { redis, key, ratePerSecond, log } = options;
  const most = grantMax(ratePerSecond);
  let nextUs = 0;
  let isAlone = false;

  function askMyself(wanted: number): Grant {
    const share = ratePerSecond / Math.max(1, options.replicas());
    const taken = takePlaces(nextUs, performance.now() * 1000, intervalUs(share), wanted);
    nextUs = taken.nextUs;
    return taken.grant;
  }

  return {
    async ask(wanted) {
      const few = Math.min(wanted, most);
      try {
        const [count, waitUs] = (await redis.eval(
          TAKE,
          1,
          key,
          intervalUs(ratePerSecond),
          TOLERANCE_MS * 1000,
          few,
        )) as [number, number];
        if (isAlone) log.info({ key }, "the rate is shared again");
        isAlone = false;
        return { count, waitMs: waitUs / 1000 };
      } catch (error) {
        if (!isAlone) log.warn({ error, key }, "the rate is kept by each replica: Redis is away");
        isAlone = true;
        return askMyself(few);
      }
    },
  };
}
