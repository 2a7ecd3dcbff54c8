import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";
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

/** What the service needs kept. */
export type TenantStore = {
  /** Throws `already_exists` when the name is taken. */
  insertTenant(tenant: Tenant): Promise<void>;
  findTenant(idOrName: string): Promise<Tenant | undefined>;
  /** Those that exist. */
  findTenants(ids: readonly string[]): Promise<readonly Tenant[]>;
  listTenants(limit: number, afterId: string): Promise<TenantPage>;
  /** Replaces a tenant if it is still as old as `before`; answers whether it was. */
  replaceTenant(before: Tenant, after: Tenant): Promise<boolean>;
  insertKey(key: ApiKey, secretHash: Uint8Array): Promise<void>;
  /** Good keys before revoked ones, each newest first; of very many the oldest revoked are left out. */
  listKeys(tenantId: string): Promise<readonly ApiKey[]>;
  /** How many keys that are not revoked the tenant has, counted no further than `max`. */
  countGoodKeys(tenantId: string, max: number): Promise<number>;
  /** Marks a key revoked, once; answers it with its hash. */
  revokeKey(keyId: string, nowMs: number): Promise<{ key: ApiKey; hash: Buffer } | undefined>;
  /** In the order of the hashes. */
  findKeysByHash(hashes: readonly Uint8Array[]): Promise<readonly (ApiKey | undefined)[]>;
};

/** Who is told of changes, so that caches elsewhere forget at once. */
export type TenantNotices = {
  tenantChanged(tenantId: string): void;
  keyChanged(hash: Uint8Array): void;
};

/** A key that is good, and whose it is. */
export type Authenticated = { readonly key: ApiKey; readonly tenant: Tenant };

/** The use cases of tenants and keys. */
export type TenantService = ReturnType<typeof createTenantService>;

const KEYS_PER_TENANT_MAX = 1000;

/** Makes the service over its ports. */
export function createTenantService(store: TenantStore, notices: TenantNotices, clock: Clock) {
  async function getTenant(idOrName: string): Promise<Tenant> {
    const tenant = await store.findTenant(idOrName);
    if (tenant === undefined) throw new AppError("not_found", "There is no such tenant.");
    return tenant;
  }

  /**
   * Finds the keys behind secrets' hashes, in order; undefined alike for unknown and revoked ones.
   * The lookup is by hash, so its time tells nothing about the secret.
   */
  async function authenticateMany(
    secretHashes: readonly Uint8Array[],
  ): Promise<(Authenticated | undefined)[]> {
    const keys = await store.findKeysByHash(secretHashes);
    const good = keys.map((key) => (key?.revokedAtMs === undefined ? key : undefined));
    const ids = new Set(good.flatMap((key) => key?.tenantId ?? []));
    if (ids.size === 0) return good.map(() => undefined);
    const tenants = new Map((await store.findTenants([...ids])).map((one) => [one.id, one]));
    return good.map((key) => {
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

    /** Errors: `not_found`, `validation_error`, `conflict` when others keep changing it. */
    async updateTenant(tenantId: string, change: TenantChange): Promise<Tenant> {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const tenant = await getTenant(tenantId);
        const changed = changeTenant(tenant, change, clock.now());
        if (await store.replaceTenant(tenant, changed)) {
          notices.tenantChanged(tenant.id);
          return changed;
        }
      }
      throw new AppError("conflict", "The tenant is being changed by others; try again.");
    },

    /** Errors: `not_found`, `validation_error`. The secret is in the answer and nowhere else. */
    async createApiKey(input: {
      readonly tenantId: string;
      readonly mode: KeyMode;
      readonly scopes: readonly string[];
      readonly allowedNetworks: readonly string[];
    }): Promise<{ key: ApiKey; secret: string }> {
      const tenant = await getTenant(input.tenantId);
      const count = await store.countGoodKeys(tenant.id, KEYS_PER_TENANT_MAX);
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

    /** Errors: `not_found`. Revoking again answers the key unchanged. */
    async revokeApiKey(keyId: string): Promise<ApiKey> {
      const revoked = await store.revokeKey(keyId, clock.now());
      if (revoked === undefined) throw new AppError("not_found", "There is no such API key.");
      notices.keyChanged(revoked.hash);
      return revoked.key;
    },

    /** Finds the key behind one secret's hash. Errors: `unauthenticated`. */
    async authenticate(secretHash: Uint8Array): Promise<Authenticated> {
      const [found] = await authenticateMany([secretHash]);
      if (found === undefined) throw new AppError("unauthenticated", "The API key is not valid.");
      return found;
    },
  };
}
