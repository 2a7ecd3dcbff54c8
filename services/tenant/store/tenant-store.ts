import { Binary, type Db, type MongoClient } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import type { Scope } from "../../shared/core/scopes.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { saveKeyedAnswer } from "../../shared/io/keyed-answers.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { TenantStore } from "../app/tenants.ts";
import type { ApiKey, KeyMode } from "../domain/api-key.ts";
import type { Tenant } from "../domain/tenant.ts";

type TenantDocument = {
  _id: string;
  name: string;
  suspended: boolean;
  email_verified: boolean;
  rate_limit: number;
  burst: number;
  bulk_max: number;
  currency: string;
  plan: string;
  redact_bodies: boolean;
  rejects_in_quiet_hours?: boolean;
  created_at: Date;
  updated_at: Date;
  /** Increases with each change; guards concurrent updates. */
  version: number;
  /** Keys that API keys and console sessions of the tenant have made. */
  keys_issued?: number;
};

type KeyDocument = {
  _id: string;
  tenant_id: string;
  hash: Binary;
  mode: KeyMode;
  scopes: Scope[];
  allowed_networks: string[];
  /** Keys that this key has made. */
  keys_issued?: number;
  /** Absent from keys of version 0.2.0, as are `hint`, `expires_at` and `last_used_at`. */
  name?: string;
  hint?: string;
  expires_at?: Date;
  last_used_at?: Date;
  created_at: Date;
  revoked_at?: Date;
};

/** Timeout of a search for names. */
const SEARCH_MAX_MS = 5000;

/** Matches names that contain a text, in any case of ASCII letters. */
function nameWith(text: string) {
  const lower = { $toLower: { $literal: text } };
  return { $expr: { $gte: [{ $indexOfCP: [{ $toLower: "$name" }, lower] }, 0] } };
}

/** Most keys that a list of a tenant's keys has. */
const KEYS_LISTED_MAX = 10_000;

function keysOf(tenantId: string, isRevoked: boolean) {
  return { tenant_id: tenantId, revoked_at: { $exists: isRevoked } };
}

function goodKeysOf(tenantId: string, nowMs: number) {
  const isUnexpired = [
    { expires_at: { $exists: false } },
    { expires_at: { $gt: new Date(nowMs) } },
  ];
  return { ...keysOf(tenantId, false), $or: isUnexpired };
}

/**
 * The MongoDB adapter of the storage port. Each change and its audit entry are one transaction; answers of idempotency
 * keys are kept for `keyTtlMs`.
 */
export function createTenantStore(
  client: MongoClient,
  db: Db,
  audit: AuditLog,
  keyTtlMs = 86_400_000,
): TenantStore {
  const tenants = db.collection<TenantDocument>("tenants");
  const keys = db.collection<KeyDocument>("api_keys");
  const versions = new WeakMap<Tenant, number>();

  function toTenant(document: TenantDocument): Tenant {
    const tenant: Tenant = {
      id: document._id,
      name: document.name,
      isSuspended: document.suspended,
      isEmailVerified: document.email_verified,
      rateLimit: document.rate_limit,
      burst: document.burst,
      bulkMax: document.bulk_max,
      currency: document.currency,
      plan: document.plan,
      redactsBodies: document.redact_bodies,
      rejectsInQuietHours: document.rejects_in_quiet_hours === true,
      createdAtMs: document.created_at.getTime(),
      updatedAtMs: document.updated_at.getTime(),
    };
    versions.set(tenant, document.version);
    return tenant;
  }

  return {
    async insertTenant(tenant) {
      try {
        await runTransaction(client, async (session) => {
          await tenants.insertOne(fromTenant(tenant, 1), { session });
          const { id } = tenant;
          await audit.write(
            { tenantId: id, subject: id, before: undefined, after: tenant },
            session,
          );
        });
      } catch (error) {
        if (isDuplicateKey(error)) {
          throw new AppError("already_exists", "A tenant of that name exists.");
        }
        throw wrapMongoError(error);
      }
    },
    async findTenant(idOrName) {
      const filter = idOrName.startsWith("ten_") ? { _id: idOrName } : { name: idOrName };
      const document = await guardMongo(tenants.findOne(filter));
      return document === null ? undefined : toTenant(document);
    },
    async findTenants(ids) {
      const documents = await guardMongo(tenants.find({ _id: { $in: [...ids] } }).toArray());
      return documents.map(toTenant);
    },
    async listTenants(limit, afterId, nameContains) {
      // A scan, in the order of ids: tenants are some thousands, and operators search now and then.
      const named = nameContains === "" ? {} : nameWith(nameContains);
      const page = await guardMongo(
        tenants
          .find({ _id: { $gt: afterId }, ...named }, { maxTimeMS: SEARCH_MAX_MS })
          .sort({ _id: 1 })
          .limit(limit + 1)
          .toArray(),
      );
      const shown = page.slice(0, limit);
      return {
        tenants: shown.map(toTenant),
        nextCursor: page.length > limit ? (shown.at(-1)?._id ?? "") : "",
      };
    },
    async replaceTenant(before, after) {
      const version = versions.get(before) ?? 0;
      // `$set` keeps fields that a newer version of the service has added.
      const { _id, ...fields } = fromTenant(after, version + 1);
      return runTransaction(client, async (session) => {
        const result = await tenants.updateOne({ _id, version }, { $set: fields }, { session });
        if (result.matchedCount === 0) return false;
        await audit.write({ tenantId: _id, subject: _id, before, after }, session);
        return true;
      });
    },
    async insertKey(key, secretHash) {
      await runTransaction(client, async (session) => {
        await keys.insertOne(fromKey(key, secretHash), { session });
        const { id: subject, tenantId } = key;
        await audit.write({ tenantId, subject, before: undefined, after: key }, session);
      });
    },
    async listKeys(tenantId) {
      const newest = (isRevoked: boolean, limit: number) =>
        guardMongo(keys.find(keysOf(tenantId, isRevoked)).sort({ _id: -1 }).limit(limit).toArray());
      const active = await newest(false, KEYS_LISTED_MAX);
      const room = KEYS_LISTED_MAX - active.length;
      // MongoDB takes a limit of 0 as no limit.
      const revoked = room === 0 ? [] : await newest(true, room);
      return [...active, ...revoked].map(toKey);
    },
    async pageKeys({ tenantId, mode, limit, beforeId }) {
      const filter = {
        tenant_id: tenantId,
        ...(mode === undefined ? {} : { mode }),
        ...(beforeId === "" ? {} : { _id: { $lt: beforeId } }),
      };
      const page = keys.find(filter).sort({ _id: -1 }).limit(limit);
      return (await guardMongo(page.toArray())).map(toKey);
    },
    async findKey(keyId) {
      const document = await guardMongo(keys.findOne({ _id: keyId }));
      return document === null ? undefined : toKey(document);
    },
    countGoodKeys: (tenantId, nowMs, max) =>
      guardMongo(keys.countDocuments(goodKeysOf(tenantId, nowMs), { limit: max })),
    issueKey: ({ tenantId, makerId, nowMs, max }, decide) =>
      runTransaction(client, async (session) => {
        // This write conflicts with other issues of the tenant, so that the count below is right. `version` stays: a
        // concurrent change of the tenant's fields may succeed.
        const counted = { $inc: { keys_issued: 1 } };
        const { matchedCount } = await tenants.updateOne({ _id: tenantId }, counted, { session });
        if (matchedCount === 0) return false;
        // Writing the maker excludes its revocation until this commits.
        const maker = await keys.findOneAndUpdate(
          { _id: makerId, tenant_id: tenantId },
          { $inc: { keys_issued: 1 } },
          { session, returnDocument: "after" },
        );
        const good = await keys.countDocuments(goodKeysOf(tenantId, nowMs), {
          session,
          limit: max,
        });
        const { key, secretHash, answer } = decide(maker === null ? undefined : toKey(maker), good);
        await keys.insertOne(fromKey(key, secretHash), { session });
        await audit.write({ tenantId, subject: key.id, before: undefined, after: key }, session);
        if (answer !== undefined) await saveKeyedAnswer(db, answer, keyTtlMs, session);
        return true;
      }),
    async markUsed(keyIds, nowMs) {
      const used = { $max: { last_used_at: new Date(nowMs) } };
      await guardMongo(keys.updateMany({ _id: { $in: [...keyIds] } }, used));
    },
    async revokeKey({ tenantId, keyId, mode }, nowMs) {
      const own = { _id: keyId, tenant_id: tenantId, ...(mode === undefined ? {} : { mode }) };
      return runTransaction(client, async (session) => {
        const document = await keys.findOne(own, { session });
        if (document === null) return undefined;
        const before = toKey(document);
        const hash = Buffer.from(document.hash.buffer);
        if (before.revokedAtMs !== undefined) return { key: before, hash };
        await keys.updateOne(own, { $set: { revoked_at: new Date(nowMs) } }, { session });
        const key = { ...before, revokedAtMs: nowMs };
        await audit.write({ tenantId, subject: keyId, before, after: key }, session);
        return { key, hash };
      });
    },
    async findKeysByHash(hashes) {
      const hash = { $in: hashes.map((one) => new Binary(one)) };
      const documents = await guardMongo(keys.find({ hash }).toArray());
      const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
      const found = new Map(documents.map((one) => [hexOf(one.hash.buffer), toKey(one)]));
      return hashes.map((one) => found.get(hexOf(one)));
    },
  };
}

function fromTenant(tenant: Tenant, version: number): TenantDocument {
  return {
    _id: tenant.id,
    name: tenant.name,
    suspended: tenant.isSuspended,
    email_verified: tenant.isEmailVerified,
    rate_limit: tenant.rateLimit,
    burst: tenant.burst,
    bulk_max: tenant.bulkMax,
    currency: tenant.currency,
    plan: tenant.plan,
    redact_bodies: tenant.redactsBodies,
    rejects_in_quiet_hours: tenant.rejectsInQuietHours,
    created_at: new Date(tenant.createdAtMs),
    updated_at: new Date(tenant.updatedAtMs),
    version,
  };
}

function fromKey(key: ApiKey, secretHash: Uint8Array): KeyDocument {
  return {
    _id: key.id,
    tenant_id: key.tenantId,
    hash: new Binary(secretHash),
    mode: key.mode,
    scopes: [...key.scopes],
    allowed_networks: [...key.allowedNetworks],
    name: key.name,
    hint: key.hint,
    ...(key.expiresAtMs === undefined ? {} : { expires_at: new Date(key.expiresAtMs) }),
    created_at: new Date(key.createdAtMs),
  };
}

function toKey(document: KeyDocument): ApiKey {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    mode: document.mode,
    scopes: document.scopes,
    allowedNetworks: document.allowed_networks,
    name: document.name ?? "",
    hint: document.hint ?? "",
    createdAtMs: document.created_at.getTime(),
    ...(document.revoked_at && { revokedAtMs: document.revoked_at.getTime() }),
    ...(document.expires_at && { expiresAtMs: document.expires_at.getTime() }),
    ...(document.last_used_at && { lastUsedAtMs: document.last_used_at.getTime() }),
  };
}
