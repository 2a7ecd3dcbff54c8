/**
 * The token bucket, in integers only. Tokens are counted in millionths, so that a bucket of `rate` tokens a second
 * gains exactly `rate` millionths each microsecond.
 */

/** The rate limit's decision for one request. */
export type RateDecision = {
  readonly isAllowed: boolean;
  /** Whole tokens left in the bucket. */
  readonly remaining: number;
  /** Seconds until the bucket is full again, rounded up. */
  readonly resetS: number;
  /** Milliseconds until this request would be allowed; 0 when it is. */
  readonly retryAfterMs: number;
};

/** Millionths of a token in one token. */
export const MICRO = 1_000_000;

/** A bucket: its level in millionths of tokens, at a time in microseconds. */
export type Bucket = { readonly level: number; readonly atUs: number };

/** Takes `cost` tokens if available: the Lua script as a pure function, for the local fallback. */
export function takeTokens(
  bucket: Bucket | undefined,
  { rate, burst, cost }: { readonly rate: number; readonly burst: number; readonly cost: number },
  nowUs: number,
): { bucket: Bucket; isAllowed: boolean } {
  const full = burst * MICRO;
  const before = bucket ?? { level: full, atUs: nowUs };
  const elapsedUs = Math.max(0, nowUs - before.atUs);
  const level = Math.min(full, before.level + elapsedUs * rate);
  const isAllowed = level >= cost * MICRO;
  return {
    // After the clock was set back, continue from the new time; otherwise the bucket gains nothing until the old time.
    bucket: { level: isAllowed ? level - cost * MICRO : level, atUs: nowUs },
    isAllowed,
  };
}

/** Converts a level, and the decision on a request of `cost` tokens, to the values of the RateLimit headers. */
export function describeLevel(
  level: number,
  { rate, burst, cost }: { readonly rate: number; readonly burst: number; readonly cost: number },
  isAllowed: boolean,
): RateDecision {
  return {
    isAllowed,
    remaining: Math.floor(level / MICRO),
    resetS: Math.ceil((burst * MICRO - level) / (rate * MICRO)),
    retryAfterMs: isAllowed ? 0 : Math.max(1, Math.ceil((cost * MICRO - level) / (rate * 1000))),
  };
}

/**
 * `takeTokens` in Redis: one call for any number of requests of one cost, with the clock of the Redis server. A bucket
 * expires when it would be full again. Returns `{granted, level}`: the requests granted, and the level left.
 */
export const TOKEN_BUCKET_LUA = `
local rate, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local cost = tonumber(ARGV[4]) * 1000000
local full = burst * 1000000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('HMGET', KEYS[1], 'l', 't')
local level, at = tonumber(stored[1]) or full, tonumber(stored[2]) or now
if now > at then level = level + (now - at) * rate end
if level > full then level = full end
local granted = math.min(wanted, math.floor(level / cost))
level = level - granted * cost
redis.call('HSET', KEYS[1], 'l', string.format('%.0f', level), 't', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((full - level) / rate / 1000) + 1000)
return {granted, string.format('%.0f', level)}
`;
