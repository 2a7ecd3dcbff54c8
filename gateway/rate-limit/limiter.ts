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

/** How long Redis is left alone after it did not answer, so that requests do not wait for it. */
const LEFT_ALONE_MS = 1000;

/**
 * The shared bucket in Redis; while Redis is away, a local one of the tenant's rate divided by
 * the number of gateways, so that the service goes on and the sum stays near the limit. The local
 * bucket goes on from the level that the shared one was last seen at.
 */
export function createRateLimiter(redis: Redis, replicas: number): RateLimiter {
  redis.defineCommand("smsTokenBucket", { numberOfKeys: 1, lua: TOKEN_BUCKET_LUA });
  const shared = redis as BucketRedis;
  const local = new Map<string, Bucket>();
  let leftAloneUntilMs = 0;

  function keep(tenantId: string, bucket: Bucket): void {
    if (!local.has(tenantId) && local.size >= LOCAL_BUCKETS_MAX) {
      local.delete(local.keys().next().value as string);
    }
    local.set(tenantId, bucket);
  }

  function takeLocally(tenantId: string, rate: number, burst: number): RateDecision {
    const localRate = Math.max(1, Math.floor(rate / replicas));
    const localBurst = Math.max(1, Math.floor(burst / replicas));
    const known = local.get(tenantId);
    const { bucket, isAllowed } = takeToken(known, localRate, localBurst, Date.now() * 1000);
    keep(tenantId, bucket);
    return describeLevel(bucket.level, localRate, localBurst, isAllowed);
  }

  return {
    async take(tenantId, rate, burst) {
      if (redis.status !== "ready" || Date.now() < leftAloneUntilMs) {
        return takeLocally(tenantId, rate, burst);
      }
      try {
        const [allowed, text] = await shared.smsTokenBucket(`rate:{${tenantId}}`, rate, burst);
        const level = Number(text);
        keep(tenantId, { level: Math.floor(level / replicas), atUs: Date.now() * 1000 });
        return describeLevel(level, rate, burst, allowed === 1);
      } catch {
        leftAloneUntilMs = Date.now() + LEFT_ALONE_MS;
        return takeLocally(tenantId, rate, burst);
      }
    },
  };
}
