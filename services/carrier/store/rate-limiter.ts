import type { Logger } from "../../shared/core/logger.ts";
import type { Redis } from "../../shared/io/redis.ts";
import {
  acquirePermits,
  EMPTY_LINE,
  type Grant,
  intervalUs,
  type RateState,
  SPAN_MS,
  TOLERANCE_MS,
} from "../domain/rate-schedule.ts";

/** Keeps one connector's submits within its rate, over all binds and replicas. */
export type Pacer = {
  /** Asks for at most so many submits now. Grants are for immediate use. */
  ask(wanted: number): Promise<Grant>;
};

/**
 * The same decision as `takePlaces`, with the line kept in Redis and Redis's own clock, so replicas
 * share one line whatever their clocks say. KEYS: the next place and the used total, and the list of
 * grants within the span. ARGV: interval, tolerance and span in microseconds, the most a span may
 * hold, submits wanted, submits that the asking replica used without asking. Answers how many, and
 * microseconds until it is worth asking again. Places and grants that Redis's clock has only in the future are
 * of before it was set back, and count no more. Who was alone comes back beside others who have not told
 * theirs yet, maybe to an empty Redis: then no places of the past are caught up with. A full Redis may evict either key
 * without the other: the list says what is used, and the total only saves adding it up.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, tolerance, span = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local most, wanted, alone = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local state = redis.call('HMGET', KEYS[1], 'next', 'used')
local from = math.max(math.min(tonumber(state[1] or now), now + interval), now - tolerance)
if alone > 0 then from = math.max(from, now) end
local used = tonumber(state[2])
if not used then
  used = 0
  for _, grant in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
    used = used + tonumber(string.match(grant, ':(%d+)'))
  end
end
local head = redis.call('LINDEX', KEYS[2], 0)
while head do
  local at, count = string.match(head, '(%d+):(%d+)')
  if tonumber(at) > now - span and tonumber(at) <= now then break end
  redis.call('LPOP', KEYS[2])
  used = used - tonumber(count)
  head = redis.call('LINDEX', KEYS[2], 0)
end
if not head then used = 0 end
if alone > 0 then
  redis.call('RPUSH', KEYS[2], string.format('%.0f:%d', now, alone))
  used = used + alone
end
local even = 0
if from <= now then even = math.floor((now - from) / interval) + 1 end
local count = math.max(0, math.min(wanted, even, most - used))
local after = from + count * interval
local oldest = now
if head then oldest = tonumber(string.match(head, '%d+')) end
if count > 0 then redis.call('RPUSH', KEYS[2], string.format('%.0f:%d', now, count)) end
used = used + count
redis.call('HSET', KEYS[1], 'next', string.format('%.0f', after), 'used', used)
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('PEXPIRE', KEYS[2], 60000)
local wait = after - now
if used >= most then wait = math.max(wait, oldest + span - now) end
return {count, math.floor(math.max(0, wait))}
`;

/** An answer that is late by more says that this process or Redis was stalled. */
const STALE_MS = 20;

/**
 * Makes a pacer. While Redis is away each replica keeps to its share of the rate by itself. Whoever
 * granted them, all submits of this process stand in one line, which holds them to the rate by its own
 * clock: Redis knows nothing of what was granted alone, may come back empty, and a process that was
 * stalled between a grant and now would use it beside the next ones.
 */
export function createPacer(options: {
  readonly redis: Redis;
  readonly key: string;
  readonly ratePerSecond: number;
  readonly replicas: () => number;
  readonly log: Logger;
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number;
}): Pacer {
  const { redis, key, ratePerSecond, log, nowMs = () => performance.now() } = options;
  // The braces keep both keys in one slot of a Redis cluster.
  const keys = [`{${key}}:line`, `{${key}}:granted`] as const;
  let line = EMPTY_LINE;
  let isAlone = false;
  /** Granted alone, and not told to Redis yet. */
  let untold: RateState["granted"] = [];

  function askMyself(wanted: number): Grant {
    const share = ratePerSecond / Math.max(1, options.replicas());
    const nowUs = nowMs() * 1000;
    // Others may have used places that were free here, so it begins with none of the past.
    if (!isAlone) line = { ...line, nextUs: Math.max(line.nextUs, nowUs) };
    // A share below one a second takes its one submit in a longer span, by its even places.
    const rate = { intervalUs: intervalUs(share), most: Math.max(1, Math.floor(share)) };
    const taken = acquirePermits(line, nowUs, rate, wanted);
    line = taken.line;
    untold = [...untold.filter(isRecent), { atUs: nowUs, count: taken.grant.count }];
    return taken.grant;
  }

  function isRecent({ atUs }: { readonly atUs: number }): boolean {
    return atUs > (nowMs() - SPAN_MS) * 1000;
  }

  /** One process has all of it in its own line; several hold each other to the rate through Redis. */
  function usedAlone(): number {
    if (options.replicas() <= 1) return 0;
    return untold.filter(isRecent).reduce((total, { count }) => total + count, 0);
  }

  /** What this process may still use of the rate now; the even places are Redis's matter. */
  function lookForRoom(wanted: number) {
    const rate = { intervalUs: 0.001, most: ratePerSecond };
    return acquirePermits({ ...line, nextUs: 0 }, nowMs() * 1000, rate, wanted);
  }

  function useNow(grant: Grant): Grant {
    const taken = lookForRoom(grant.count);
    line = { ...line, granted: taken.line.granted };
    return { count: taken.grant.count, waitMs: grant.waitMs };
  }

  let usualMs = 1;

  /** Tells whether an answer took so much longer than usual that its grant belongs to the past. */
  function isStale(tookMs: number): boolean {
    const limitMs = Math.max(STALE_MS, 4 * usualMs);
    usualMs += (tookMs - usualMs) / 16;
    return tookMs > limitMs;
  }

  return {
    async ask(wanted) {
      // What has no room here is not asked of Redis: it would be granted for nothing, and be lost.
      const { grant: room } = lookForRoom(wanted);
      if (room.count === 0) return room;
      const askedMs = nowMs();
      try {
        const [count, waitUs] = (await redis.eval(
          TAKE,
          keys.length,
          ...keys,
          intervalUs(ratePerSecond),
          TOLERANCE_MS * 1000,
          SPAN_MS * 1000,
          ratePerSecond,
          room.count,
          usedAlone(),
        )) as [number, number];
        untold = [];
        if (isAlone) log.info({ key }, "the rate is shared again");
        isAlone = false;
        if (isStale(nowMs() - askedMs)) return { count: 0, waitMs: 0 };
        return useNow({ count, waitMs: waitUs / 1000 });
      } catch (error) {
        if (!isAlone) log.warn({ error, key }, "the rate is kept by each replica: Redis is away");
        const grant = askMyself(wanted);
        isAlone = true;
        return grant;
      }
    },
  };
}
