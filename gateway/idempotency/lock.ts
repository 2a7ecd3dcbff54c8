/**
 * The lock keeps two requests of one idempotency key from running at once. It is only a lock:
 * the truth is the record that the service writes with the effect. Losing the lock (Redis
 * flushed, restarted, away) costs at most a wasted attempt that the record refuses.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "../../services/shared/io/redis.ts";

/**
 * What the lock said: `taken`; `unknown` when Redis could not be asked; `busy_same` or
 * `busy_other` when a request of the key is under way, with the same body or another.
 */
export type KeyLock = {
  readonly state: "taken" | "unknown" | "busy_same" | "busy_other";
  /** Gives the lock back; harmless when it was not taken, and never rejects. */
  release(): Promise<void>;
};

/** Longer than any request may run; a crashed holder's lock is gone after this. */
const LOCK_MS = 25_000;

/** How long Redis is left alone after it did not answer: the record keeps keys apart without it. */
const REDIS_PAUSE_MS = 1000;

const RELEASE_LUA = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`;

type LockRedis = Redis & { smsReleaseLock(key: string, value: string): Promise<number> };

/** Takes keyLocks for requests with an idempotency key. */
export type KeyLocks = {
  take(scope: string, fingerprint: Buffer): Promise<KeyLock>;
};

const NOTHING = async () => undefined;

/** Makes the keeper over Redis. */
export function createKeyLocks(redis: Redis): KeyLocks {
  redis.defineCommand("smsReleaseLock", { numberOfKeys: 1, lua: RELEASE_LUA });
  const shared = redis as LockRedis;
  let redisPausedUntilMs = 0;

  return {
    async take(scope, fingerprint) {
      if (redis.status !== "ready" || performance.now() < redisPausedUntilMs)
        return { state: "unknown", release: NOTHING };
      const key = `idem:${scope}`;
      const print = fingerprint.toString("base64");
      const value = `${print}.${randomBytes(8).toString("base64")}`;
      const release = async () => {
        await shared.smsReleaseLock(key, value).catch(NOTHING);
      };
      try {
        if ((await redis.set(key, value, "PX", LOCK_MS, "NX")) === "OK") {
          return { state: "taken", release };
        }
        const holder = await redis.get(key);
        const isSame = holder === null || holder.startsWith(`${print}.`);
        return { state: isSame ? "busy_same" : "busy_other", release: NOTHING };
      } catch {
        redisPausedUntilMs = performance.now() + REDIS_PAUSE_MS;
        // The command may have been carried out all the same, so the lock is given back too.
        return { state: "unknown", release };
      }
    },
  };
}
