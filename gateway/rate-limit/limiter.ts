import { setRecent } from "../../services/shared/flow/lru.ts";
import type { Redis } from "../../services/shared/io/redis.ts";
import {
  type Bucket,
  describeLevel,
  MICRO,
  type RateDecision,
  TOKEN_BUCKET_LUA,
  takeToken,
} from "./token-bucket.ts";

/** Takes one token from a tenant's bucket. */
export type RateLimiter = {
  take(tenantId: string, rate: number, burst: number): Promise<RateDecision>;
};

type BucketRedis = Redis & {
  smsTokenBucket(
    key: string,
    rate: number,
    burst: number,
    wanted: number,
  ): Promise<[number, string]>;
};

type Waiting = {
  readonly rate: number;
  readonly burst: number;
  readonly resolve: (decision: RateDecision) => void;
};

const LOCAL_BUCKETS_MAX = 100_000;

/** How long Redis is not called after a failure, so that requests do not wait for it. */
const REDIS_PAUSE_MS = 1000;

/**
 * The shared bucket in Redis. Requests of a tenant that arrive during a call for that tenant share the next call:
 * a single request waits for nothing, and a flood costs few calls.
 *
 * While Redis is unavailable each gateway uses a local bucket with its share of the tenant's rate, so that the sum
 * stays near the limit. The local bucket starts at the last known level of the shared one.
 */
export function createRateLimiter(redis: Redis, replicas: () => number): RateLimiter {
  redis.defineCommand("smsTokenBucket", { numberOfKeys: 1, lua: TOKEN_BUCKET_LUA });
  const shared = redis as BucketRedis;
  const local = createLocalBuckets(replicas);
  /** Requests for the next call, by tenant; a tenant has an entry while a call for it is in progress. */
  const queues = new Map<string, Waiting[]>();
  let redisPausedUntilMs = 0;

  async function serve(tenantId: string, batch: readonly Waiting[]): Promise<void> {
    const { rate, burst } = batch[0] as Waiting;
    // After a failed call the queued requests do not wait for another one.
    if (performance.now() < redisPausedUntilMs) return serveLocally(tenantId, batch);
    try {
      const key = `rate:{${tenantId}}`;
      const [granted, text] = await shared.smsTokenBucket(key, rate, burst, batch.length);
      const level = Number(text);
      local.setLevel(tenantId, level);
      batch.forEach(({ resolve }, at) => {
        // Report levels as if the requests had arrived one by one: the first sees the most left.
        const left = level + Math.max(0, granted - 1 - at) * MICRO;
        resolve(describeLevel(left, rate, burst, at < granted));
      });
    } catch {
      redisPausedUntilMs = performance.now() + REDIS_PAUSE_MS;
      serveLocally(tenantId, batch);
    }
  }

  function serveLocally(tenantId: string, batch: readonly Waiting[]): void {
    for (const { rate, burst, resolve } of batch) resolve(local.take(tenantId, rate, burst));
  }

  async function drain(tenantId: string, first: Waiting): Promise<void> {
    let batch = [first];
    while (batch.length > 0) {
      queues.set(tenantId, []);
      await serve(tenantId, batch);
      batch = queues.get(tenantId) ?? [];
    }
    queues.delete(tenantId);
  }

  return {
    async take(tenantId, rate, burst) {
      if (redis.status !== "ready" || performance.now() < redisPausedUntilMs) {
        return local.take(tenantId, rate, burst);
      }
      return new Promise((resolve) => {
        const waiting = { rate, burst, resolve };
        const queue = queues.get(tenantId);
        if (queue === undefined) void drain(tenantId, waiting);
        else queue.push(waiting);
      });
    },
  };
}

function createLocalBuckets(replicas: () => number) {
  const buckets = new Map<string, Bucket>();

  function keep(tenantId: string, bucket: Bucket): void {
    setRecent(buckets, tenantId, bucket, LOCAL_BUCKETS_MAX);
  }

  return {
    /** Stores the level of the shared bucket. */
    setLevel(tenantId: string, level: number): void {
      keep(tenantId, { level: Math.floor(level / replicas()), atUs: Date.now() * 1000 });
    },
    take(tenantId: string, rate: number, burst: number): RateDecision {
      const count = replicas();
      const share = Math.max(1, Math.floor(rate / count));
      const size = Math.max(1, Math.floor(burst / count));
      const nowUs = Date.now() * 1000;
      const { bucket, isAllowed } = takeToken(buckets.get(tenantId), share, size, nowUs);
      keep(tenantId, bucket);
      return describeLevel(bucket.level, share, size, isAllowed);
    },
  };
}
