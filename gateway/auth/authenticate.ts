import { hash } from "node:crypto";
import { AppError } from "../../services/shared/core/errors.ts";
import { setRecent } from "../../services/shared/flow/lru.ts";
import type { Caller } from "../http/request-state.ts";
import type { LoadKey } from "./key-loader.ts";

/** Turns an `Authorization` header into a caller, or throws `unauthenticated`. */
export type Authenticator = {
  authenticate(header: string | undefined): Promise<Caller>;
  /** Forgets one key (hex of its hash), or all keys of a tenant. */
  forgetKey(hashHex: string): void;
  forgetTenant(tenantId: string): void;
};

/** A caller, or `undefined` for a key that is not good; believed until `untilMs`. */
type Known = { readonly caller: Caller | undefined; readonly untilMs: number };

/** Good keys kept; beyond, the oldest goes. */
const GOOD_MAX = 50_000;

/** Bad keys kept, apart from the good ones, which a flood of inventions must not push out. */
const BAD_MAX = 10_000;

const BEARER = /^Bearer +([A-Za-z0-9_-]{20,128})$/i;

/**
 * Callers are looked up by the SHA-256 of their secret, so no comparison ever runs over the
 * secret itself, and kept (also when unknown) for `cacheMs`, which bounds how long a revoked key
 * can still be used even when the invalidation message is lost. One in use is looked up again
 * at half time, beside the requests, so that none of them waits for it.
 */
export function createAuthenticator(ask: LoadKey, cacheMs: number): Authenticator {
  const good = new Map<string, Known>();
  const bad = new Map<string, Known>();
  const inFlight = new Map<string, Promise<Caller | undefined>>();

  function keep(hashHex: string, known: Known): void {
    const isGood = known.caller !== undefined;
    const [into, outOf, max] = isGood ? [good, bad, GOOD_MAX] : [bad, good, BAD_MAX];
    outOf.delete(hashHex);
    setRecent(into, hashHex, known, max);
  }

  function look(hashHex: string): Promise<Caller | undefined> {
    const running = inFlight.get(hashHex);
    if (running !== undefined) return running;
    const startedMs = Date.now();
    const looking: Promise<Caller | undefined> = ask(hashHex)
      .then((caller) => {
        // Not kept when the key was to be forgotten while the answer was on its way.
        if (inFlight.get(hashHex) === looking) {
          keep(hashHex, { caller, untilMs: startedMs + cacheMs });
        }
        return caller;
      })
      .finally(() => {
        if (inFlight.get(hashHex) === looking) inFlight.delete(hashHex);
      });
    inFlight.set(hashHex, looking);
    return looking;
  }

  function find(hashHex: string): Caller | undefined | Promise<Caller | undefined> {
    const known = good.get(hashHex) ?? bad.get(hashHex);
    const leftMs = known === undefined ? 0 : known.untilMs - Date.now();
    // A clock that was set back says nothing about an age.
    if (known === undefined || leftMs <= 0 || leftMs > cacheMs) return look(hashHex);
    if (known.caller !== undefined && leftMs < cacheMs / 2) look(hashHex).catch(() => undefined);
    return known.caller;
  }

  return {
    async authenticate(header) {
      const secret = BEARER.exec(header ?? "")?.[1];
      const caller = secret === undefined ? undefined : await find(hash("sha256", secret, "hex"));
      if (caller === undefined) {
        throw new AppError("unauthenticated", "Give a valid API key as a bearer token.");
      }
      return caller;
    },
    forgetKey(hashHex) {
      good.delete(hashHex);
      bad.delete(hashHex);
      inFlight.delete(hashHex);
    },
    forgetTenant(tenantId) {
      for (const [hashHex, { caller }] of good) {
        if (caller?.tenantId === tenantId) good.delete(hashHex);
      }
      inFlight.clear();
    },
  };
}
