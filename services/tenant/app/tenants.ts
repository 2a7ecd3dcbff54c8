import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { checkGiven, invalidField } from "../../shared/core/limits.ts";
import type { KeyedAnswer } from "../../shared/core/run-once.ts";
import {
  type ApiKey,
  createApiKey,
  createApiKeyFor,
  endOf,
  hashSecret,
  hintOf,
  isGood,
  type KeyEnd,
  type KeyMode,
  type NewApiKey,
  newSecret,
} from "../domain/api-key.ts";
import {
  changeTenant,
  createTenant,
  type NewTenant,
  type Tenant,
  type TenantChange,
} from "../domain/tenant.ts";
import { createLastUsed } from "./last-used.ts";

/** A page of tenants, in the order of their ids. */
export type TenantPage = { readonly tenants: readonly Tenant[]; readonly nextCursor: string };

/** The storage port. */
export type TenantStore = {
  /** Throws `already_exists` when the name is taken. */
  insertTenant(tenant: Tenant): Promise<void>;
  findTenant(idOrName: string): Promise<Tenant | undefined>;
  /** Finds the tenants that exist, in any order. */
  findTenants(ids: readonly string[]): Promise<readonly Tenant[]>;
  /** Lists tenants whose names contain the text, without regard to the case of ASCII letters. */
  listTenants(limit: number, afterId: string, nameContains: string): Promise<TenantPage>;
  /** Replaces a tenant unless it has changed since `before` was read; returns whether it did. */
  replaceTenant(before: Tenant, after: Tenant): Promise<boolean>;
  insertKey(key: ApiKey, secretHash: Uint8Array): Promise<void>;
  /**
   * Active keys, then revoked ones, each newest first. Beyond 10,000 keys the oldest revoked are left
   * out.
   */
  listKeys(tenantId: string): Promise<readonly ApiKey[]>;
  /** A page of the tenant's keys of one mode or of both, newest first, after the key `beforeId`. */
  pageKeys(page: KeyPage): Promise<readonly ApiKey[]>;
  findKey(keyId: string): Promise<ApiKey | undefined>;
  /** The number of the tenant's good keys; counting stops at `max`. */
  countGoodKeys(tenantId: string, nowMs: number, max: number): Promise<number>;
  /**
   * Passes the key `makerId` and the number of good keys to `decide`; inserts the new key with its answer in one
   * transaction. Issues of one tenant exclude each other, and the maker cannot be revoked meanwhile. False when the
   * tenant does not exist.
   */
  issueKey(
    issue: KeyIssue,
    decide: (maker: ApiKey | undefined, good: number) => Issued,
  ): Promise<boolean>;
  /** Revokes a tenant's key of the given mode, or of any mode; idempotent. Returns the key with its hash. */
  revokeKey(
    own: { readonly tenantId: string; readonly keyId: string; readonly mode: KeyMode | undefined },
    nowMs: number,
  ): Promise<{ key: ApiKey; hash: Buffer } | undefined>;
  /** Stores when keys were used; keeps a stored time that is later. */
  markUsed(keyIds: readonly string[], nowMs: number): Promise<void>;
  /** The keys in the order of the hashes; undefined for an unknown one. */
  findKeysByHash(hashes: readonly Uint8Array[]): Promise<readonly (ApiKey | undefined)[]>;
};

/** A page of keys. */
export type KeyPage = {
  readonly tenantId: string;
  readonly mode: KeyMode | undefined;
  readonly limit: number;
  readonly beforeId: string;
};

/** The documents that the store reads to issue a key; counting stops at `max`. */
export type KeyIssue = {
  readonly tenantId: string;
  readonly makerId: string;
  readonly nowMs: number;
  readonly max: number;
};

/** The documents that issuing a key stores. */
export type Issued = {
  readonly key: ApiKey;
  readonly secretHash: Uint8Array;
  readonly answer: KeyedAnswer | undefined;
};

/** Port that removes changed tenants and keys from the caches of other processes. */
export type TenantInvalidation = {
  tenantChanged(tenantId: string): void;
  keyChanged(hash: Uint8Array): void;
};

/** An active key and its tenant. */
export type Authenticated = { readonly key: ApiKey; readonly tenant: Tenant };

/** The use cases of tenants and keys. */
export type TenantService = ReturnType<typeof createTenantService>;

const KEYS_PER_TENANT_MAX = 1000;

export function createTenantService(
  store: TenantStore,
  cacheInvalidation: TenantInvalidation,
  clock: Clock,
) {
  const noteUse = createLastUsed(store, clock);

  async function getTenant(idOrName: string): Promise<Tenant> {
    const tenant = await store.findTenant(idOrName);
    if (tenant === undefined) throw new AppError("not_found", "There is no such tenant.");
    return tenant;
  }

  /**
   * Finds the keys of secrets by hash, in order; undefined for unknown ones. Only the holder of a whole secret learns
   * that its key has ended. The lookup is by hash, so its duration reveals nothing about the secret.
   */
  async function authenticateMany(
    secretHashes: readonly Uint8Array[],
  ): Promise<(Authenticated | KeyEnd | undefined)[]> {
    const keys = await store.findKeysByHash(secretHashes);
    const nowMs = clock.now();
    const active = keys.map((key) => (key !== undefined && isGood(key, nowMs) ? key : undefined));
    noteUse(active.filter((key) => key !== undefined));
    const ids = new Set(active.flatMap((key) => key?.tenantId ?? []));
    const found = ids.size === 0 ? [] : await store.findTenants([...ids]);
    const tenants = new Map(found.map((one) => [one.id, one]));
    return keys.map((key) => {
      const end = key === undefined ? undefined : endOf(key, nowMs);
      if (end !== undefined) return end;
      const tenant = tenants.get(key?.tenantId ?? "");
      return key === undefined || tenant === undefined ? undefined : { key, tenant };
    });
  }

  return {
    getTenant,
    findTenants: (ids: readonly string[]) => store.findTenants(ids),
    authenticateMany,

    /** Errors: `validation_error`, `already_exists`. */
    async createTenant(input: NewTenant): Promise<Tenant> {
      const tenant = createTenant(newId("tenant"), input, clock.now());
      await store.insertTenant(tenant);
      return tenant;
    },

    listTenants: (limit: number, afterId: string, nameContains: string) =>
      store.listTenants(limit, afterId, nameContains),

    /** Errors: `not_found`, `validation_error`, `conflict` after five concurrent changes. */
    async updateTenant(tenantId: string, change: TenantChange): Promise<Tenant> {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const tenant = await getTenant(tenantId);
        const changed = changeTenant(tenant, change, clock.now());
        if (await store.replaceTenant(tenant, changed)) {
          cacheInvalidation.tenantChanged(tenant.id);
          return changed;
        }
      }
      throw new AppError("conflict", "The tenant is being changed by others; try again.");
    },

    /** Errors: `not_found`, `validation_error`. Only the result has the secret. */
    async createApiKey(input: {
      readonly tenantId: string;
      readonly mode: KeyMode;
      readonly scopes: readonly string[];
      readonly allowedNetworks: readonly string[];
    }): Promise<{ key: ApiKey; secret: string }> {
      const tenant = await getTenant(input.tenantId);
      const count = await store.countGoodKeys(tenant.id, clock.now(), KEYS_PER_TENANT_MAX);
      if (count >= KEYS_PER_TENANT_MAX) {
        throw invalidField("tenant_id", "too_many", `has ${KEYS_PER_TENANT_MAX} keys already`);
      }
      const secret = newSecret(input.mode);
      const key = createApiKey(
        { ...input, tenantId: tenant.id, id: newId("apiKey"), nowMs: clock.now() },
        hintOf(secret),
      );
      await store.insertKey(key, hashSecret(secret));
      return { key, secret };
    },

    /**
     * Creates a key for its maker, another key of the tenant. `answerOf` encodes the answer that commits with it.
     * Errors: `not_found`, `unauthenticated` when the maker is no longer good, `validation_error`.
     */
    async issueApiKey(
      input: Omit<NewApiKey, "id" | "nowMs"> & {
        /** The key that makes it; empty for a console session, whose scopes are `makerScopes`. */
        readonly makerId: string;
        readonly makerScopes: readonly string[];
      },
      answerOf: (key: ApiKey, secret: string) => KeyedAnswer | undefined,
    ): Promise<void> {
      const { tenantId, makerId, makerScopes } = input;
      const nowMs = clock.now();
      const issue = { tenantId, makerId, nowMs, max: KEYS_PER_TENANT_MAX };
      const isIssued = await store.issueKey(issue, (found, good) => {
        const isSession = makerId === "";
        const maker = isSession ? { mode: input.mode, scopes: makerScopes } : found;
        // The gateway caches keys for up to five seconds, so the maker may have been revoked or have expired since.
        const isStale = found === undefined || found.tenantId !== tenantId || !isGood(found, nowMs);
        if (maker === undefined || (!isSession && isStale)) {
          throw new AppError("unauthenticated", "The API key is not valid.");
        }
        const secret = newSecret(maker.mode);
        const wanted = { ...input, id: newId("apiKey"), nowMs };
        const key = createApiKeyFor(maker, wanted, hintOf(secret));
        if (good >= KEYS_PER_TENANT_MAX) {
          const message = `An account has at most ${KEYS_PER_TENANT_MAX} keys; revoke one first.`;
          throw invalidField("", "too_many", message);
        }
        return { key, secretHash: hashSecret(secret), answer: answerOf(key, secret) };
      });
      if (!isIssued) throw new AppError("not_found", "There is no such tenant.");
    },

    /** The keys of a page, and whether more follow. */
    async pageApiKeys(page: KeyPage): Promise<{ keys: readonly ApiKey[]; hasMore: boolean }> {
      const found = await store.pageKeys({ ...page, limit: page.limit + 1 });
      return { keys: found.slice(0, page.limit), hasMore: found.length > page.limit };
    },

    /** Errors: `not_found`. */
    async getApiKey(tenantId: string, keyId: string, mode?: KeyMode): Promise<ApiKey> {
      const key = await store.findKey(keyId);
      const isOwn = key?.tenantId === tenantId && (mode === undefined || key.mode === mode);
      if (key === undefined || !isOwn) throw unknownKey();
      return key;
    },

    /** Errors: `not_found`. */
    async listApiKeys(tenantId: string): Promise<readonly ApiKey[]> {
      const tenant = await getTenant(tenantId);
      return store.listKeys(tenant.id);
    },

    /** Errors: `validation_error`, `not_found`. A repeated call returns the key unchanged. */
    async revokeApiKey(tenantId: string, keyId: string, mode?: KeyMode): Promise<ApiKey> {
      checkGiven("tenant_id", tenantId);
      const revoked = await store.revokeKey({ tenantId, keyId, mode }, clock.now());
      if (revoked === undefined) throw unknownKey();
      cacheInvalidation.keyChanged(revoked.hash);
      return revoked.key;
    },

    /** Finds the key of a secret by hash. Errors: `unauthenticated`. */
    async authenticate(secretHash: Uint8Array): Promise<Authenticated> {
      const [found] = await authenticateMany([secretHash]);
      if (typeof found === "object") return found;
      throw new AppError("unauthenticated", "The API key is not valid.");
    },
  };
}

function unknownKey(): AppError {
  return new AppError("not_found", "There is no such API key.");
}
