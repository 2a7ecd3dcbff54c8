import { hash } from "node:crypto";
import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { AuthenticateResponse, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { toAppError } from "../../services/shared/rpc/error-status.ts";
import type { Caller } from "../request-state.ts";
import { compileNetworks } from "./caller-address.ts";

/** Turns an `Authorization` header into a caller, or throws `unauthenticated`. */
export type Authenticator = {
  authenticate(header: string | undefined): Promise<Caller>;
  /** Forgets one key (hex of its hash), or all keys of a tenant. */
  forgetKey(hashHex: string): void;
  forgetTenant(tenantId: string): void;
};

type Cached = { readonly caller: Caller | undefined; readonly untilMs: number };

const CACHE_MAX = 50_000;
const BEARER = /^Bearer +([A-Za-z0-9_-]{20,128})$/i;

/**
 * Callers are looked up by the SHA-256 of their secret, so no comparison ever runs over the
 * secret itself, and cached (also when unknown) for `cacheMs`, which bounds how long a revoked
 * key can still be used even when the invalidation message is lost.
 */
export function createAuthenticator(
  tenants: Client<typeof TenantService>,
  cacheMs: number,
): Authenticator {
  const cache = new Map<string, Cached>();
  const inFlight = new Map<string, Promise<Caller | undefined>>();

  async function look(hashHex: string): Promise<Caller | undefined> {
    try {
      const found = await tenants.authenticate({ secretSha256: Buffer.from(hashHex, "hex") });
      return toCaller(found);
    } catch (error) {
      const known = toAppError(error);
      if (known.code === "unauthenticated") return undefined;
      throw known.code === "service_unavailable"
        ? known
        : new AppError("service_unavailable", "The service is busy; try again shortly.", {
            cause: known,
          });
    }
  }

  async function find(hashHex: string): Promise<Caller | undefined> {
    const cached = cache.get(hashHex);
    if (cached !== undefined && cached.untilMs > Date.now()) return cached.caller;
    let pending = inFlight.get(hashHex);
    if (pending === undefined) {
      const startedMs = Date.now();
      pending = look(hashHex)
        .then((caller) => {
          if (cache.size >= CACHE_MAX) cache.delete(cache.keys().next().value as string);
          cache.delete(hashHex);
          cache.set(hashHex, { caller, untilMs: startedMs + cacheMs });
          return caller;
        })
        .finally(() => inFlight.delete(hashHex));
      inFlight.set(hashHex, pending);
    }
    return pending;
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
      cache.delete(hashHex);
      inFlight.delete(hashHex);
    },
    forgetTenant(tenantId) {
      for (const [hashHex, { caller }] of cache) {
        if (caller?.tenantId === tenantId) cache.delete(hashHex);
      }
      inFlight.clear();
    },
  };
}

function toCaller({ key, tenant }: AuthenticateResponse): Caller | undefined {
  if (key === undefined || tenant === undefined) return undefined;
  const { allowedNetworks } = key;
  return {
    keyId: key.id,
    tenantId: tenant.id,
    mode: key.mode === Mode.TEST ? Mode.TEST : Mode.LIVE,
    scopes: new Set(key.scopes),
    allowsAddress: allowedNetworks.length === 0 ? () => true : compileNetworks(allowedNetworks),
    isSuspended: tenant.suspended,
    isEmailVerified: tenant.emailVerified,
    rateLimit: tenant.rateLimit,
    burst: tenant.burst,
    bulkMax: tenant.bulkMax,
    currency: tenant.currency,
  };
}
