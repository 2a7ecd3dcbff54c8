/**
 * The Redis lock of an idempotency key keeps two requests with the same key from running at once. It is an
 * optimisation: correctness comes from the idempotency record that the service writes with the effect. Losing
 * the lock (Redis flushed, restarted, unreachable) costs at most one attempt that the record refuses.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "../../services/shared/io/redis.ts";
import { createRedisPause } from "../../services/shared/io/redis-pause.ts";

export type KeyLock = {
  /**
   * `acquired`; `unknown` when Redis did not respond; `busy_same` or `busy_other` when another request with the
   * key is in progress, with the same body or another one.
   */
  readonly state: "acquired" | "unknown" | "busy_same" | "busy_other";
  /** Releases the lock. Does nothing when it was not acquired, and never rejects. */
  release(): Promise<void>;
};

/** Longer than any request may run; a crashed holder's lock expires after this. */
const LOCK_MS = 25_000;

const RELEASE_LUA = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`;

type LockRedis = Redis & { smsReleaseLock(key: string, value: string): Promise<number> };

/** The locks of idempotency keys. */
export type KeyLocks = {
  acquire(scope: string, fingerprint: Buffer): Promise<KeyLock>;
};

const NOTHING = async () => undefined;

export function createKeyLocks(redis: Redis): KeyLocks {
  redis.defineCommand("smsReleaseLock", { numberOfKeys: 1, lua: RELEASE_LUA });
  const shared = redis as LockRedis;
  const pause = createRedisPause(redis);

  return {
    async acquire(scope, fingerprint) {
      // Meanwhile the record alone keeps keys apart.
      if (pause.isAway()) return { state: "unknown", release: NOTHING };
      const key = `idem:${scope}`;
      const print = fingerprint.toString("base64");
      const value = `${print}.${randomBytes(8).toString("base64")}`;
      const release = async () => {
        await shared.smsReleaseLock(key, value).catch(NOTHING);
      };
      try {
        if ((await redis.set(key, value, "PX", LOCK_MS, "NX")) === "OK") {
          return { state: "acquired", release };
        }
        const holder = await redis.get(key);
        const isSame = holder === null || holder.startsWith(`${print}.`);
        return { state: isSame ? "busy_same" : "busy_other", release: NOTHING };
      } catch {
        pause.begin();
        // Redis may have executed the command, so `release` must still delete the key.
        return { state: "unknown", release };
      }
    },
  };
}
