/** Conformance suite of the port `TenantStore`, on MongoDB. */
import { expect } from "chai";
import { asAppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { createKeyedAnswers } from "../../../services/shared/io/keyed-answers.ts";
import type { Issued, TenantStore } from "../../../services/tenant/app/tenants.ts";
import { type ApiKey, hashSecret, type KeyMode } from "../../../services/tenant/domain/api-key.ts";
import { createTenant, type Tenant } from "../../../services/tenant/domain/tenant.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createTenantStore } from "../../../services/tenant/store/tenant-store.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const AT_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

describe("the store of tenants", () => {
  let database: TestDatabase;
  let store: TenantStore;
  let other: TenantStore;
  before(async () => {
    database = await openTestDatabase("tenant_store", migrate);
    const { client, db } = database.mongo;
    const open = () => createTenantStore(client, db, createAuditLog(db, DAY_MS));
    [store, other] = [open(), open()];
  });
  after(() => database?.close());

  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: unknown) => asAppError(error).code,
    );
  const auditOf = async (tenantId: string) =>
    database.mongo.db.collection("audit").countDocuments({ tenant_id: tenantId });

  /** A tenant under a name that no other test uses. */
  const tenantOf = (about: Partial<Tenant> = {}): Tenant => ({
    ...createTenant(newId("tenant"), { name: freshDatabase("tenant") }, AT_MS),
    ...about,
  });
  async function insert(about: Partial<Tenant> = {}): Promise<Tenant> {
    const tenant = tenantOf(about);
    await store.insertTenant(tenant);
    return tenant;
  }

  describe("a tenant", () => {
    it("is found by its id and by its name as it was inserted, and leaves an audit entry", async () => {
      const tenant = await insert({
        ...{ isSuspended: true, rateLimit: 7, burst: 9, bulkMax: 11, plan: "large" },
        ...{ redactsBodies: true, rejectsInQuietHours: true, isEmailVerified: true },
      });
      for (const idOrName of [tenant.id, tenant.name]) {
        expect(await store.findTenant(idOrName)).to.deep.equal(tenant);
      }
      for (const unknown of [newId("tenant"), "no such name", ""]) {
        expect(await store.findTenant(unknown), unknown).to.equal(undefined);
      }
      const second = await insert();
      const ids = [second.id, newId("tenant"), tenant.id];
      expect(await store.findTenants(ids)).to.have.deep.members([tenant, second]);
      expect(await store.findTenants([])).to.deep.equal([]);
      expect(await auditOf(tenant.id)).to.equal(1);
    });

    it("has its name alone, also when several are inserted at once", async () => {
      const same = [1, 2, 3].map(() => tenantOf({ name: "Taken" }));
      const codes = await Promise.all(same.map((one) => codeOf(store.insertTenant(one))));
      expect(codes.toSorted()).to.deep.equal(["already_exists", "already_exists", "done"]);
      const refused = same[codes.indexOf("already_exists")];
      expect(await auditOf(refused?.id ?? "")).to.equal(0);
    });

    it("is replaced unless it has changed since it was read, also by another process", async () => {
      const { id } = await insert();
      const read = async (from: TenantStore) => {
        const tenant = await from.findTenant(id);
        if (tenant === undefined) throw new Error("there is no tenant");
        return tenant;
      };
      const [mine, theirs] = [await read(store), await read(other)];
      const changed = { ...mine, plan: "mine", updatedAtMs: AT_MS + 1 };
      const results = await Promise.all([
        store.replaceTenant(mine, changed),
        other.replaceTenant(theirs, { ...theirs, plan: "theirs" }),
      ]);
      expect(results.filter(Boolean)).to.have.length(1);
      expect((await read(store)).plan).to.equal(results[0] ? "mine" : "theirs");
      expect(await store.replaceTenant(mine, changed)).to.equal(false);
      expect(await store.replaceTenant(await read(store), changed)).to.equal(true);
      expect(await read(other)).to.deep.equal(changed);
      expect(await auditOf(id)).to.equal(3);
    });

    it("is listed in the order of ids, by a part of its name, with a cursor while more follow", async () => {
      const word = freshDatabase("LISTED");
      const tenants = [];
      for (const at of [1, 2, 3]) tenants.push(await insert({ name: `a ${word} ${at}.*` }));
      const [first, second, third] = tenants as [Tenant, Tenant, Tenant];
      const list = (limit: number, afterId: string, text = word.toLowerCase()) =>
        store.listTenants(limit, afterId, text);
      expect(await list(2, "")).to.deep.equal({ tenants: [first, second], nextCursor: second.id });
      expect(await list(2, second.id)).to.deep.equal({ tenants: [third], nextCursor: "" });
      expect(await list(3, "")).to.deep.equal({ tenants, nextCursor: "" });
      expect((await list(10, "", `${word} 2.*`)).tenants).to.deep.equal([second]);
      expect((await list(10, "", `${word} .*`)).tenants, "no pattern").to.deep.equal([]);
      expect((await list(10_000, "", "")).tenants).to.deep.include.members(tenants);
    });
  });

  /** A key of a tenant, with the hash of its own id as its secret's. */
  const keyOf = (tenantId: string, about: Partial<ApiKey> = {}): ApiKey => ({
    ...{ id: newId("apiKey"), tenantId, mode: "live", scopes: ["messages:send"] },
    ...{ allowedNetworks: ["10.0.0.0/8"], name: "build", hint: "abcd", createdAtMs: AT_MS },
    ...about,
  });
  const hashOf = ({ id }: ApiKey) => hashSecret(id);
  async function insertKey(tenantId: string, about: Partial<ApiKey> = {}): Promise<ApiKey> {
    const key = keyOf(tenantId, about);
    await store.insertKey(key, hashOf(key));
    return key;
  }
  const idsOf = (keys: readonly ApiKey[]) => keys.map(({ id }) => id);
  const revoke = ({ tenantId, id }: ApiKey, mode?: KeyMode, nowMs = AT_MS + 1) =>
    store.revokeKey({ tenantId, keyId: id, mode }, nowMs);

  describe("a key", () => {
    it("is found by its id and by the hash of its secret as it was inserted, in the order of the hashes", async () => {
      const tenantId = newId("tenant");
      const [plain, expiring] = [
        await insertKey(tenantId),
        await insertKey(tenantId, { mode: "test", expiresAtMs: AT_MS + DAY_MS }),
      ];
      expect(await store.findKey(plain.id)).to.deep.equal(plain);
      expect(await store.findKey(newId("apiKey"))).to.equal(undefined);
      const hashes = [hashOf(expiring), hashSecret("unknown"), hashOf(plain), hashOf(expiring)];
      expect(await store.findKeysByHash(hashes)).to.deep.equal([
        ...[expiring, undefined, plain, expiring],
      ]);
    });

    it("is listed active ones first, newest first, and on pages by mode, newest first", async () => {
      const tenantId = newId("tenant");
      const made: ApiKey[] = [];
      for (const mode of ["live", "test", "live", "live"] as const) {
        made.push(await insertKey(tenantId, { mode }));
      }
      const [a, b, c, d] = made as [ApiKey, ApiKey, ApiKey, ApiKey];
      await insertKey(newId("tenant"));
      await revoke(c);
      expect(idsOf(await store.listKeys(tenantId))).to.deep.equal(idsOf([d, b, a, c]));
      const page = async (more: object) =>
        idsOf(
          await store.pageKeys({ tenantId, mode: undefined, limit: 10, beforeId: "", ...more }),
        );
      expect(await page({})).to.deep.equal(idsOf([d, c, b, a]));
      expect(await page({ mode: "test" })).to.deep.equal(idsOf([b]));
      expect(await page({ mode: "live", limit: 2 })).to.deep.equal(idsOf([d, c]));
      expect(await page({ mode: "live", beforeId: c.id })).to.deep.equal(idsOf([a]));
    });

    it("is good until it is revoked or expires; the count of good ones has a bound", async () => {
      const tenantId = newId("tenant");
      await insertKey(tenantId);
      await insertKey(tenantId, { expiresAtMs: AT_MS + 5 });
      await revoke(await insertKey(tenantId));
      const count = (nowMs: number, max = 10) => store.countGoodKeys(tenantId, nowMs, max);
      expect(await count(AT_MS + 4)).to.equal(2);
      expect(await count(AT_MS + 5)).to.equal(1);
      expect(await count(AT_MS, 1)).to.equal(1);
    });

    it("is revoked once by its tenant and in its mode, and keeps the first time", async () => {
      const key = await insertKey(newId("tenant"));
      expect(await revoke({ ...key, tenantId: newId("tenant") })).to.equal(undefined);
      expect(await revoke(key, "test")).to.equal(undefined);
      expect(await store.findKey(key.id)).to.deep.equal(key);
      const revoked = { key: { ...key, revokedAtMs: AT_MS + 1 }, hash: Buffer.from(hashOf(key)) };
      const both = await Promise.all([revoke(key, "live"), revoke(key, undefined)]);
      expect(both).to.deep.equal([revoked, revoked]);
      expect(await revoke(key, "live", AT_MS + 9)).to.deep.equal(revoked);
      expect(await store.findKey(key.id)).to.deep.equal(revoked.key);
      // The insertion and one revocation.
      expect(await auditOf(key.tenantId)).to.equal(2);
    });

    it("keeps the latest of its uses, in each order of storing them", async () => {
      const [first, second] = [await insertKey(newId("tenant")), await insertKey(newId("tenant"))];
      await store.markUsed([first.id, second.id], AT_MS + 7);
      await store.markUsed([first.id, newId("apiKey")], AT_MS + 3);
      await store.markUsed([second.id], AT_MS + 9);
      await store.markUsed([], AT_MS + 10);
      expect((await store.findKey(first.id))?.lastUsedAtMs).to.equal(AT_MS + 7);
      expect((await store.findKey(second.id))?.lastUsedAtMs).to.equal(AT_MS + 9);
    });
  });

  describe("a key that a key makes", () => {
    const issue = (
      maker: ApiKey,
      decide: (maker: ApiKey | undefined, good: number) => Issued,
      on = store,
      max = 10,
    ) => on.issueKey({ tenantId: maker.tenantId, makerId: maker.id, nowMs: AT_MS, max }, decide);
    const issued = (key: ApiKey, answer?: Issued["answer"]): Issued => ({
      ...{ key, secretHash: hashOf(key), answer },
    });

    it("is stored with its answer, of what the store gives of the maker and the count", async () => {
      const { id: tenantId } = await insert();
      const maker = await insertKey(tenantId);
      const made = keyOf(tenantId);
      const answer = {
        ...{ scope: `${tenantId}|issue`, fingerprint: new Uint8Array([1]) },
        response: new Uint8Array([2]),
      };
      const given: unknown[] = [];
      const decide = (from: ApiKey | undefined, good: number) => {
        given.push(from, good);
        return issued(made, answer);
      };
      expect(await issue(maker, decide)).to.equal(true);
      expect(given.slice(-2)).to.deep.equal([maker, 1]);
      expect(await store.findKey(made.id)).to.deep.equal(made);
      const answers = createKeyedAnswers(database.mongo.db, DAY_MS);
      expect(await answers.find(answer)).to.deep.equal(answer.response);
    });

    it("is not made for an unknown tenant, and nothing is stored when the decision is a refusal", async () => {
      const stray = keyOf(newId("tenant"));
      expect(await issue(stray, () => issued(stray))).to.equal(false);
      expect(await store.findKey(stray.id)).to.equal(undefined);
      const { id: tenantId } = await insert();
      const maker = await insertKey(tenantId);
      const refused = issue(maker, () => {
        throw new Error("no");
      });
      expect(await codeOf(refused)).to.equal("internal_error");
      expect(await store.listKeys(tenantId)).to.deep.equal([maker]);
    });

    it("is counted before the next one is decided, over all processes", async () => {
      const { id: tenantId } = await insert();
      const maker = await insertKey(tenantId);
      const limited = (on: TenantStore) =>
        issue(
          maker,
          (_maker, good) => {
            if (good >= 4) throw new Error("too many");
            return issued(keyOf(tenantId));
          },
          on,
        );
      const codes = await Promise.all(
        Array.from({ length: 9 }, (_, at) => codeOf(limited(at % 2 === 0 ? store : other))),
      );
      expect(codes.filter((code) => code === "done")).to.have.length(3);
      expect(await store.countGoodKeys(tenantId, AT_MS, 10)).to.equal(4);
    });

    it("is made before its maker is revoked or refused after it, never both", async () => {
      for (let round = 0; round < 5; round += 1) {
        const { id: tenantId } = await insert();
        const maker = await insertKey(tenantId);
        const seen: boolean[] = [];
        const decide = (from: ApiKey | undefined) => {
          seen.push(from?.revokedAtMs !== undefined);
          if (from?.revokedAtMs !== undefined) throw new Error("revoked");
          return issued(keyOf(tenantId));
        };
        const [code] = await Promise.all([codeOf(issue(maker, decide)), revoke(maker)]);
        expect((await store.findKey(maker.id))?.revokedAtMs).to.equal(AT_MS + 1);
        const good = await store.countGoodKeys(tenantId, AT_MS, 10);
        expect(good, `${code}, revoked when decided: ${seen}`).to.equal(code === "done" ? 1 : 0);
        expect(seen.at(-1)).to.equal(code !== "done");
      }
    });

    it("has no maker where that key is another tenant's or unknown", async () => {
      const { id: tenantId } = await insert();
      const foreign = await insertKey(newId("tenant"));
      for (const makerId of [foreign.id, newId("apiKey")]) {
        const given: (ApiKey | undefined)[] = [];
        await issue({ ...foreign, tenantId, id: makerId }, (from) => {
          given.push(from);
          return issued(keyOf(tenantId));
        });
        expect(given).to.deep.equal([undefined]);
      }
    });
  });
});
