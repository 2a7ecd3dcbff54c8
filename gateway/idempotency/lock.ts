/**
 * The fence keeps two requests of one idempotency key from running at once. It is only a fence:
 * the truth is the record that the service writes with the effect. Losing the fence (Redis
 * flushed, restarted, away) costs at most a wasted attempt that the record refuses.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "../../services/shared/io/redis.ts";

/**
 * What the fence said: `taken`; `unknown` when Redis could not be asked; `busy_same` or
 * `busy_other` when a request of the key is under way, with the same body or another.
 */
export type Fence = {
  readonly state: "taken" | "unknown" | "busy_same" | "busy_other";
  /** Gives the fence back; harmless when it was not taken, and never rejects. */
  release(): Promise<void>;
};

/** Longer than any request may run; a crashed holder's fence is gone after this. */
const FENCE_MS = 25_000;

/** How long Redis is left alone after it did not answer: the record keeps keys apart without it. */
const LEFT_ALONE_MS = 1000;

const RELEASE_LUA = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`;

type FenceRedis = Redis & { smsReleaseFence(key: string, value: string): Promise<number> };

/** Takes fences for requests with an idempotency key. */
export type FenceKeeper = {
  take(scope: string, fingerprint: Buffer): Promise<Fence>;
};

const NOTHING = async () => undefined;

/** Makes the keeper over Redis. */
export function createFenceKeeper(redis: Redis): FenceKeeper {
  redis.defineCommand("smsReleaseFence", { numberOfKeys: 1, lua: RELEASE_LUA });
  const shared = redis as FenceRedis;
  let leftAloneUntilMs = 0;

  return {
    async take(scope, fingerprint) {
      if (redis.status !== "ready" || performance.now() < leftAloneUntilMs)
        return { state: "unknown", release: NOTHING };
      const key = `idem:${scope}`;
      const print = fingerprint.toString("base64");
      const value = `${print}.${randomBytes(8).toString("base64")}`;
      const release = async () => {
        await shared.smsReleaseFence(key, value).catch(NOTHING);
      };
      try {
        if ((await redis.set(key, value, "PX", FENCE_MS, "NX")) === "OK") {
          return { state: "taken", release };
        }
        const holder = await redis.get(key);
        const isSame = holder === null || holder.startsWith(`${print}.`);
        return { state: isSame ? "busy_same" : "busy_other", release: NOTHING };
      } catch {
        leftAloneUntilMs = performance.now() + LEFT_ALONE_MS;
        // The command may have been carried out all the same, so the fence is given back too.
        return { state: "unknown", release };
      }
    },
  };
}
