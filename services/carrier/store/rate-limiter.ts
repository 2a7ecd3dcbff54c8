import type { Logger } from "../../shared/core/logger.ts";
import type { Redis } from "../../shared/io/redis.ts";
import type { RateLimiter } from "../app/ports.ts";
import {
  acquirePermits,
  EMPTY_RATE_STATE,
  type Grant,
  intervalUs,
  type RateState,
  SPAN_MS,
  TOLERANCE_MS,
} from "../domain/rate-schedule.ts";

/**
 * The decision of `acquirePermits` with the state and the clock of Redis, so that replicas share one state although
 * their clocks differ.
 *
 * - KEYS: the hash with the next permit and the used total; the list of grants within the span.
 * - ARGV: interval, tolerance and span in microseconds; the most that a span may hold; permits wanted; permits that
 *   this replica granted itself while Redis was unavailable.
 * - Returns the number of permits, and the microseconds before the next request is useful.
 *
 * Times in the future are from before Redis's clock was set back; they do not count. A replica that granted permits
 * itself may return before other such replicas, or to an empty Redis, so the script does not catch up then. Redis may
 * evict either key without the other: the list is the truth, and the total only saves adding it up.
 */
const ACQUIRE_SCRIPT = `
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

/** A slower answer shows that this process or Redis was suspended. */
const STALE_MS = 20;

/**
 * Creates a rate limiter. While Redis is unavailable each replica limits itself to its share of the rate.
 *
 * A local state also holds all submits of this process to the rate, by a clock of its own, because the state in Redis
 * is not enough: it lacks the permits that this replica granted itself, may be empty after a restart, and cannot know
 * that this process was suspended between a grant and its use.
 */
export function createRateLimiter(options: {
  readonly redis: Redis;
  readonly key: string;
  readonly ratePerSecond: number;
  readonly replicas: () => number;
  readonly log: Logger;
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number;
}): RateLimiter {
  const { redis, key, ratePerSecond, log, nowMs = () => performance.now() } = options;
  // The braces keep both keys in one slot of a Redis cluster.
  const keys = [`{${key}}:line`, `{${key}}:granted`] as const;
  let state = EMPTY_RATE_STATE;
  let isRedisAway = false;
  /** Grants of this replica that Redis does not know yet. */
  let unreported: RateState["granted"] = [];

  function acquireShare(wanted: number): Grant {
    const share = ratePerSecond / Math.max(1, options.replicas());
    const nowUs = nowMs() * 1000;
    // Do not catch up: other replicas may have used the permits of the past.
    if (!isRedisAway) state = { ...state, nextUs: Math.max(state.nextUs, nowUs) };
    // With a share below one per second, the even spacing limits the submits and the span does not.
    const rate = { intervalUs: intervalUs(share), most: Math.max(1, Math.floor(share)) };
    const taken = acquirePermits(state, nowUs, rate, wanted);
    state = taken.state;
    unreported = [...unreported.filter(isRecent), { atUs: nowUs, count: taken.grant.count }];
    return taken.grant;
  }

  function isRecent({ atUs }: { readonly atUs: number }): boolean {
    return atUs > (nowMs() - SPAN_MS) * 1000;
  }

  /** Only replicas that share the rate must report their own grants to Redis. */
  function unreportedCount(): number {
    if (options.replicas() <= 1) return 0;
    return unreported.filter(isRecent).reduce((total, { count }) => total + count, 0);
  }

  /** The permits that the local state still allows now. Redis does the even spacing. */
  function acquireLocally(wanted: number) {
    const rate = { intervalUs: 0.001, most: ratePerSecond };
    return acquirePermits({ ...state, nextUs: 0 }, nowMs() * 1000, rate, wanted);
  }

  function recordGrant(grant: Grant): Grant {
    const taken = acquireLocally(grant.count);
    state = { ...state, granted: taken.state.granted };
    return { count: taken.grant.count, waitMs: grant.waitMs };
  }

  let usualMs = 1;

  /** Whether the permits of a response may be out of date, because it took too long. */
  function isStale(tookMs: number): boolean {
    const limitMs = Math.max(STALE_MS, 4 * usualMs);
    usualMs += (tookMs - usualMs) / 16;
    return tookMs > limitMs;
  }

  return {
    async acquire(wanted) {
      // Request only permits that the local state allows: Redis would count the others as used.
      const { grant: local } = acquireLocally(wanted);
      if (local.count === 0) return local;
      const askedMs = nowMs();
      try {
        const [count, waitUs] = (await redis.eval(
          ACQUIRE_SCRIPT,
          keys.length,
          ...keys,
          intervalUs(ratePerSecond),
          TOLERANCE_MS * 1000,
          SPAN_MS * 1000,
          ratePerSecond,
          local.count,
          unreportedCount(),
        )) as [number, number];
        unreported = [];
        if (isRedisAway) log.info({ key }, "Redis is available: replicas share the rate again");
        isRedisAway = false;
        if (isStale(nowMs() - askedMs)) return { count: 0, waitMs: 0 };
        return recordGrant({ count, waitMs: waitUs / 1000 });
      } catch (error) {
        if (!isRedisAway)
          log.warn({ error, key }, "Redis is unavailable: each replica limits itself to its share");
        const grant = acquireShare(wanted);
        isRedisAway = true;
        return grant;
      }
    },
  };
}
