/**
 * The daily quota of test messages. They cost nothing, so without a quota a test key could fill the database. The
 * quota belongs to the tenant: all its test keys share it.
 */
import type { Clock } from "../../services/shared/core/clock.ts";
import type { Redis } from "../../services/shared/io/redis.ts";
import { createRedisPause } from "../../services/shared/io/redis-pause.ts";

/** Counts test messages of tenants by UTC day. */
export type TestQuota = {
  /** Takes `count` messages, all or none. Returns how long until the next day when they are too many, else 0. */
  take(tenantId: string, count: number): Promise<number>;
  /** Refunds messages that were not made. Never rejects. */
  refund(tenantId: string, count: number): Promise<void>;
};

const DAY_MS = 86_400_000;

const TAKE_LUA = `
local used, count, max = tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1]), tonumber(ARGV[2])
if used + count > max then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', used + count), 'PX', ARGV[3])
return 1
`;

/** Reduces the day's count. Does nothing on the next day, when the Redis key has expired. */
const REFUND_LUA = `
local used, count = tonumber(redis.call('GET', KEYS[1]) or '0'), tonumber(ARGV[1])
if used > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', math.max(0, used - count)), 'KEEPTTL')
end
return 0
`;

type QuotaRedis = Redis & {
  smsTakeQuota(key: string, count: number, max: number, keepMs: number): Promise<number>;
  smsRefundQuota(key: string, count: number): Promise<number>;
};

/**
 * The quota in Redis. While Redis is unavailable it allows everything: test messages move no money and reach no
 * phone, the rate limit still holds, and a customer's tests must not fail because of a cache.
 */
export function createTestQuota(redis: Redis, perDay: number, clock: Clock): TestQuota {
  redis.defineCommand("smsTakeQuota", { numberOfKeys: 1, lua: TAKE_LUA });
  redis.defineCommand("smsRefundQuota", { numberOfKeys: 1, lua: REFUND_LUA });
  const shared = redis as QuotaRedis;
  const pause = createRedisPause(redis);
  const keyOf = (tenantId: string) => `test-quota:${tenantId}:${Math.floor(clock.now() / DAY_MS)}`;

  return {
    async take(tenantId, count) {
      if (pause.isAway()) return 0;
      try {
        const isTaken = await shared.smsTakeQuota(keyOf(tenantId), count, perDay, DAY_MS);
        return isTaken === 1 ? 0 : DAY_MS - (clock.now() % DAY_MS);
      } catch {
        pause.begin();
        return 0;
      }
    },
    async refund(tenantId, count) {
      if (pause.isAway()) return;
      // After a lost refund the tenant has a few test messages less until midnight UTC.
      await shared.smsRefundQuota(keyOf(tenantId), count).catch(() => undefined);
    },
  };
}
