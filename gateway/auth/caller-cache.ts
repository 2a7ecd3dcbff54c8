import { hash } from "node:crypto";
import { setRecent } from "../../services/shared/flow/lru.ts";
import type { Caller } from "./caller.ts";

/** The reason that a secret no longer works. */
export type SecretEnd = "revoked" | "expired";

/** The caller of a valid secret, or the reason that a once valid secret ended; undefined for an unknown secret. */
export type FoundCaller = Caller | SecretEnd | undefined;

/** Looks up a secret, given as the hex of its SHA-256. */
export type LoadCaller = (hashHex: string) => Promise<FoundCaller>;

/** Callers by their secret: API keys, or sessions of the console. */
export type CallerCache = {
  find(secret: string): FoundCaller | Promise<FoundCaller>;
  /** Removes the caller of one secret (hex of its hash), or all callers of a tenant. */
  forget(hashHex: string): void;
  forgetTenant(tenantId: string): void;
};

/** A cached result; valid until `untilMs`. */
type CacheEntry = { readonly found: FoundCaller; readonly untilMs: number };

/** The maximum number of valid secrets cached; above it the oldest entry is evicted. */
const GOOD_MAX = 50_000;

/** The same for invalid secrets. Their cache is separate: a flood of made-up secrets must not evict valid ones. */
const BAD_MAX = 10_000;

/**
 * Looks callers up by the SHA-256 of their secret, so no comparison runs over the secret itself. Results, also
 * negative ones, are cached for `cacheMs`: a revoked secret works no longer than that, even when the invalidation
 * message is lost. A cached caller in use is refreshed after half of `cacheMs`, in the background, so that no
 * request waits.
 */
export function createCallerCache(loadCaller: LoadCaller, cacheMs: number): CallerCache {
  const good = new Map<string, CacheEntry>();
  const bad = new Map<string, CacheEntry>();
  const inFlight = new Map<string, Promise<FoundCaller>>();

  function keep(hashHex: string, entry: CacheEntry): void {
    const [into, outOf, max] = isCaller(entry.found) ? [good, bad, GOOD_MAX] : [bad, good, BAD_MAX];
    outOf.delete(hashHex);
    setRecent(into, hashHex, entry, max);
  }

  function load(hashHex: string): Promise<FoundCaller> {
    const running = inFlight.get(hashHex);
    if (running !== undefined) return running;
    const startedMs = Date.now();
    const loading: Promise<FoundCaller> = loadCaller(hashHex)
      .then((found) => {
        // Do not cache a result whose secret was invalidated while the call was in progress.
        if (inFlight.get(hashHex) === loading) {
          keep(hashHex, { found, untilMs: startedMs + cacheMs });
        }
        return found;
      })
      .finally(() => {
        if (inFlight.get(hashHex) === loading) inFlight.delete(hashHex);
      });
    inFlight.set(hashHex, loading);
    return loading;
  }

  return {
    find(secret) {
      const hashHex = hash("sha256", secret, "hex");
      const entry = good.get(hashHex) ?? bad.get(hashHex);
      const leftMs = entry === undefined ? 0 : entry.untilMs - Date.now();
      // More than `cacheMs` left means that the clock was set back: the age is unknown.
      if (entry === undefined || leftMs <= 0 || leftMs > cacheMs) return load(hashHex);
      if (isCaller(entry.found) && leftMs < cacheMs / 2) load(hashHex).catch(() => undefined);
      return entry.found;
    },
    forget(hashHex) {
      good.delete(hashHex);
      bad.delete(hashHex);
      inFlight.delete(hashHex);
    },
    forgetTenant(tenantId) {
      for (const [hashHex, { found }] of good) {
        if (isCaller(found) && found.tenantId === tenantId) good.delete(hashHex);
      }
      inFlight.clear();
    },
  };
}

/** Whether a lookup found a caller. */
export function isCaller(found: FoundCaller): found is Caller {
  return typeof found === "object";
}
