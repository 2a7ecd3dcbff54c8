import { setRecent } from "../../services/shared/flow/lru.ts";
import type { Redis } from "../../services/shared/io/redis.ts";
import { createRedisPause } from "../../services/shared/io/redis-pause.ts";
import {
  type Bucket,
  describeLevel,
  MICRO,
  type RateDecision,
  TOKEN_BUCKET_LUA,
  takeTokens,
} from "./token-bucket.ts";

/** The bucket of a tenant, and how many tokens a request takes from it: at least 1, and at most `burst`. */
export type TokenRequest = {
  readonly rate: number;
  readonly burst: number;
  readonly cost: number;
};

/** Takes tokens from a tenant's bucket: all that the request needs, or none. */
export type RateLimiter = {
  take(tenantId: string, request: TokenRequest): Promise<RateDecision>;
};

type BucketRedis = Redis & {
  smsTokenBucket(
    key: string,
    rate: number,
    burst: number,
    wanted: number,
    cost: number,
  ): Promise<[number, string]>;
};

type Waiting = {
  readonly request: TokenRequest;
  readonly resolve: (decision: RateDecision) => void;
};

const LOCAL_BUCKETS_MAX = 100_000;

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
  const pause = createRedisPause(redis);

  /** Decides on requests of one tenant that all cost the same number of tokens, in one call. */
  async function serve(tenantId: string, batch: readonly Waiting[]): Promise<void> {
    const { rate, burst, cost } = (batch[0] as Waiting).request;
    // After a failed call, decide queued requests locally at once: they do not wait for another failure.
    if (pause.isPaused()) return serveLocally(tenantId, batch);
    try {
      const key = `rate:{${tenantId}}`;
      const [granted, text] = await shared.smsTokenBucket(key, rate, burst, batch.length, cost);
      const level = Number(text);
      local.setLevel(tenantId, level);
      batch.forEach(({ request, resolve }, at) => {
        // Report levels as if the requests had arrived one by one: the first request gets the highest level.
        const left = level + Math.max(0, granted - 1 - at) * cost * MICRO;
        resolve(describeLevel(left, request, at < granted));
      });
    } catch {
      pause.begin();
      serveLocally(tenantId, batch);
    }
  }

  function serveLocally(tenantId: string, batch: readonly Waiting[]): void {
    for (const { request, resolve } of batch) resolve(local.take(tenantId, request));
  }

  async function drain(tenantId: string, first: Waiting): Promise<void> {
    const queue = [first];
    queues.set(tenantId, queue);
    while (queue.length > 0) await serve(tenantId, takeSameCost(queue));
    queues.delete(tenantId);
  }

  return {
    take(tenantId, request) {
      if (pause.isAway()) return Promise.resolve(local.take(tenantId, request));
      return new Promise((resolve) => {
        const waiting = { request, resolve };
        const queue = queues.get(tenantId);
        if (queue === undefined) void drain(tenantId, waiting);
        else queue.push(waiting);
      });
    },
  };
}

/** Removes the first requests of equal cost from a queue: nearly always all, because most cost one token. */
function takeSameCost(queue: Waiting[]): Waiting[] {
  const cost = queue[0]?.request.cost;
  const other = queue.findIndex(({ request }) => request.cost !== cost);
  return queue.splice(0, other < 0 ? queue.length : other);
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
    take(tenantId: string, request: TokenRequest): RateDecision {
      const count = replicas();
      const burst = Math.max(1, Math.floor(request.burst / count));
      const share = {
        rate: Math.max(1, Math.floor(request.rate / count)),
        burst,
        // A request that costs more than this gateway's share of the burst must not be refused for ever.
        cost: Math.min(request.cost, burst),
      };
      const nowUs = Date.now() * 1000;
      const { bucket, isAllowed } = takeTokens(buckets.get(tenantId), share, nowUs);
      keep(tenantId, bucket);
      return describeLevel(bucket.level, share, isAllowed);
    },
  };
}
