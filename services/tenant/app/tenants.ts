import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { checkGiven, invalidField } from "../../shared/core/limits.ts";
import {
  type ApiKey,
  createApiKey,
  hashSecret,
  type KeyMode,
  newSecret,
} from "../domain/api-key.ts";
import {
  changeTenant,
  createTenant,
  type NewTenant,
  type Tenant,
  type TenantChange,
} from "../domain/tenant.ts";

/** A page of tenants, in the order of their ids. */
export type TenantPage = { readonly tenants: readonly Tenant[]; readonly nextCursor: string };

/** The storage port. */
export type TenantStore = {
  /** Throws `already_exists` when the name is taken. */
  insertTenant(tenant: Tenant): Promise<void>;
  findTenant(idOrName: string): Promise<Tenant | undefined>;
  /** The ones that exist, in any order. */
  findTenants(ids: readonly string[]): Promise<readonly Tenant[]>;
  listTenants(limit: number, afterId: string): Promise<TenantPage>;
  /** Replaces a tenant unless it has changed since `before` was read; returns whether it did. */
  replaceTenant(before: Tenant, after: Tenant): Promise<boolean>;
  insertKey(key: ApiKey, secretHash: Uint8Array): Promise<void>;
  /**
   * Active keys, then revoked ones, each newest first. Of very many the oldest revoked are left
   * out.
   */
  listKeys(tenantId: string): Promise<readonly ApiKey[]>;
  /** The number of the tenant's active keys; counting stops at `max`. */
  countActiveKeys(tenantId: string, max: number): Promise<number>;
  /** Revokes a tenant's key, idempotent; returns it with its hash. */
  revokeKey(
    tenantId: string,
    keyId: string,
    nowMs: number,
  ): Promise<{ key: ApiKey; hash: Buffer } | undefined>;
  /** In the order of the hashes. */
  findKeysByHash(hashes: readonly Uint8Array[]): Promise<readonly (ApiKey | undefined)[]>;
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
  async function getTenant(idOrName: string): Promise<Tenant> {
    const tenant = await store.findTenant(idOrName);
    if (tenant === undefined) throw new AppError("not_found", "There is no such tenant.");
    return tenant;
  }

  /**
   * Finds the keys of secrets by hash, in order; undefined for unknown and for revoked ones. The
   * lookup is by hash, so its duration reveals nothing about the secret.
   */
  async function authenticateMany(
    secretHashes: readonly Uint8Array[],
  ): Promise<(Authenticated | undefined)[]> {
    const keys = await store.findKeysByHash(secretHashes);
    const active = keys.map((key) => (key?.revokedAtMs === undefined ? key : undefined));
    const ids = new Set(active.flatMap((key) => key?.tenantId ?? []));
    if (ids.size === 0) return active.map(() => undefined);
    const tenants = new Map((await store.findTenants([...ids])).map((one) => [one.id, one]));
    return active.map((key) => {
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

    listTenants: (limit: number, afterId: string) => store.listTenants(limit, afterId),

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
      const count = await store.countActiveKeys(tenant.id, KEYS_PER_TENANT_MAX);
      if (count >= KEYS_PER_TENANT_MAX) {
        throw invalidField("tenant_id", "too_many", `has ${KEYS_PER_TENANT_MAX} keys already`);
      }
      const key = createApiKey({
        ...input,
        tenantId: tenant.id,
        id: newId("apiKey"),
        nowMs: clock.now(),
      });
      const secret = newSecret(key.mode);
      await store.insertKey(key, hashSecret(secret));
      return { key, secret };
    },

    /** Errors: `not_found`. */
    async listApiKeys(tenantId: string): Promise<readonly ApiKey[]> {
      const tenant = await getTenant(tenantId);
      return store.listKeys(tenant.id);
    },

    /** Errors: `validation_error`, `not_found`. A repeated call returns the key unchanged. */
    async revokeApiKey(tenantId: string, keyId: string): Promise<ApiKey> {
      checkGiven("tenant_id", tenantId);
      const revoked = await store.revokeKey(tenantId, keyId, clock.now());
      if (revoked === undefined) throw new AppError("not_found", "There is no such API key.");
      cacheInvalidation.keyChanged(revoked.hash);
      return revoked.key;
    },

    /** Finds the key of a secret by hash. Errors: `unauthenticated`. */
    async authenticate(secretHash: Uint8Array): Promise<Authenticated> {
      const [found] = await authenticateMany([secretHash]);
      if (found === undefined) throw new AppError("unauthenticated", "The API key is not valid.");
      return found;
    },
  };
}
