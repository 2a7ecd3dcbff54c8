/** A tenant's keys on a real database: their list and their limit. */
import { expect } from "chai";
import { Binary } from "mongodb";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import type { Mongo } from "../../../services/shared/io/mongo.ts";
import { createTenantService, type TenantService } from "../../../services/tenant/app/tenants.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createTenantStore } from "../../../services/tenant/store/tenant-store.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

/** The size of the longest list. */
const MANY = 10_000;

describe("the keys of a tenant", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let mongo: Mongo;
  let service: TenantService;

  before(async () => {
    database = await openTestDatabase("tenant", migrate);
    mongo = database.mongo;
    const cacheInvalidation = { tenantChanged: () => undefined, keyChanged: () => undefined };
    service = createTenantService(
      createTenantStore(mongo.client, mongo.db, createAuditLog(mongo.db, 3_600_000)),
      cacheInvalidation,
      createManualClock(1),
    );
  });
  after(() => database?.close());

  const makeKey = async (tenantId: string) => {
    const wanted = { tenantId, mode: "live", scopes: ["messages:send"], allowedNetworks: [] };
    return (await service.createApiKey(wanted as never)).key.id;
  };
  async function insertKeys(tenantId: string, count: number, fields: object): Promise<string[]> {
    const documents = Array.from({ length: count }, () => {
      const _id = newId("apiKey");
      const hash = new Binary(hashSecret(_id));
      const more = { scopes: [], allowed_networks: [], created_at: new Date(), ...fields };
      return { _id, tenant_id: tenantId, hash, mode: "live", ...more };
    });
    await mongo.db.collection("api_keys").insertMany(documents as never[]);
    return documents.map(({ _id }) => _id);
  }

  it("are listed active ones first, newest first, after any number of revocations", async () => {
    const { id } = await service.createTenant({ name: "Turns keys often" });
    const old = await makeKey(id);
    const revoked = await insertKeys(id, MANY, { revoked_at: new Date() });
    const fresh = await makeKey(id);
    const listed = (await service.listApiKeys(id)).map((key) => key.id);
    expect(listed.length).to.equal(MANY);
    expect(listed.slice(0, 3)).to.deep.equal([fresh, old, revoked.at(-1)]);
  });

  it("are at most 1,000 active ones; revoking one allows another", async () => {
    const { id } = await service.createTenant({ name: "Has many keys" });
    const [first = ""] = await insertKeys(id, 1000, {});
    const refusal = await makeKey(id).catch((error: AppError) => error.fields);
    expect(refusal).to.deep.include({
      field: "tenant_id",
      code: "too_many",
      message: "has 1000 keys already",
    });
    await service.revokeApiKey(id, first);
    expect(await makeKey(id)).to.match(/^key_/);
  });
});
