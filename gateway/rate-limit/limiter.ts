import type { Redis } from "../../services/shared/io/redis.ts";
import {
  type Bucket,
  describeLevel,
  type RateDecision,
  TOKEN_BUCKET_LUA,
  takeToken,
} from "./token-bucket.ts";

/** Takes one token of a tenant's bucket. */
export type RateLimiter = {
  take(tenantId: string, rate: number, burst: number): Promise<RateDecision>;
};

type BucketRedis = Redis & {
  smsTokenBucket(key: string, rate: number, burst: number): Promise<[number, string]>;
};

const LOCAL_BUCKETS_MAX = 100_000;

/**
 * The shared bucket in Redis; while Redis is away, a local one of the tenant's rate divided by
 * the number of gateways, so that the service goes on and the sum stays near the limit.
 */
export function createRateLimiter(redis: Redis, replicas: number): RateLimiter {
  redis.defineCommand("smsTokenBucket", { numberOfKeys: 1, lua: TOKEN_BUCKET_LUA });
  const shared = redis as BucketRedis;
  const local = new Map<string, Bucket>();

  function takeLocally(tenantId: string, rate: number, burst: number): RateDecision {
    const localRate = Math.max(1, Math.floor(rate / replicas));
    const localBurst = Math.max(1, Math.floor(burst / replicas));
    const { bucket, isAllowed } = takeToken(
      local.get(tenantId),
      localRate,
      localBurst,
      Date.now() * 1000,
    );
    local.delete(tenantId);
    if (local.size >= LOCAL_BUCKETS_MAX) local.delete(local.keys().next().value as string);
    local.set(tenantId, bucket);
    return describeLevel(bucket.level, localRate, localBurst, isAllowed);
  }

  return {
    async take(tenantId, rate, burst) {
      if (redis.status !== "ready") return takeLocally(tenantId, rate, burst);
      try {
        const [allowed, level] = await shared.smsTokenBucket(`rate:{${tenantId}}`, rate, burst);
        return describeLevel(Number(level), rate, burst, allowed === 1);
      } catch {
        return takeLocally(tenantId, rate, burst);
      }
    },
  };
}
