/** Batched lookups of keys, tenants and sender IDs on a real database. */
import { expect } from "chai";
import { toSenderIdEvent } from "../../../services/sender-id/adapters/events.ts";
import { createSenderIdService } from "../../../services/sender-id/app/sender-ids.ts";
import { migrate as migrateSenderIds } from "../../../services/sender-id/migrate.ts";
import { createSenderIdStore } from "../../../services/sender-id/store/sender-id-store.ts";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import type { Outbox } from "../../../services/shared/io/outbox.ts";
import { createTenantService } from "../../../services/tenant/app/tenants.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import { migrate as migrateTenants } from "../../../services/tenant/migrate.ts";
import { createTenantStore } from "../../../services/tenant/store/tenant-store.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

describe("batched lookups", () => {
  const log = createLogger("test", "silent");
  let servers: TestServers;
  let mongo: Mongo;
  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    mongo = await openMongo({ uri: servers.mongodbUri, database: freshDatabase("asked"), log });
    await migrateTenants(mongo.db);
    await migrateSenderIds(mongo.db);
  });
  after(async () => {
    await mongo?.close();
    await servers?.stop();
  });

  describe("keys and tenants", () => {
    const cacheInvalidation = { tenantChanged: () => undefined, keyChanged: () => undefined };
    const service = () =>
      createTenantService(
        createTenantStore(mongo.client, mongo.db, createAuditLog(mongo.db, 3_600_000)),
        cacheInvalidation,
        systemClock,
      );
    const newKey = (tenantId: string) =>
      service().createApiKey({ tenantId, mode: "live", scopes: [], allowedNetworks: [] });

    it("return each secret in its place: valid, unknown, revoked, and the same one twice", async () => {
      const one = await service().createTenant({ name: newId("tenant").slice(4) });
      const other = await service().createTenant({ name: newId("tenant").slice(4) });
      const [first, second, gone] = [
        await newKey(one.id),
        await newKey(other.id),
        await newKey(one.id),
      ];
      await service().revokeApiKey(one.id, gone.key.id);
      const secrets = [second.secret, "unknown", gone.secret, first.secret, second.secret];
      const answers = await service().authenticateMany(secrets.map(hashSecret));
      expect(answers[2]).to.equal("revoked");
      const found = answers.map((each) => (typeof each === "object" ? each : undefined));
      expect(found.map((each) => each?.key.id)).to.deep.equal([
        second.key.id,
        undefined,
        undefined,
        first.key.id,
        second.key.id,
      ]);
      expect(found.map((each) => each?.tenant.id)).to.deep.equal([
        other.id,
        undefined,
        undefined,
        one.id,
        other.id,
      ]);
    });

    it("return no tenant that does not exist", async () => {
      const tenant = await service().createTenant({ name: newId("tenant").slice(4) });
      const found = await service().findTenants([newId("tenant"), tenant.id]);
      expect(found.map(({ id }) => id)).to.deep.equal([tenant.id]);
    });
  });

  describe("sender IDs", () => {
    const noOutbox = undefined as unknown as Outbox;
    const service = () => {
      const { client, db } = mongo;
      const store = createSenderIdStore({
        audit: createAuditLog(mongo.db, 3_600_000),
        ...{ client, db, outbox: noOutbox },
        encodeEvent: toSenderIdEvent,
        keyTtlMs: 3_600_000,
      });
      const cacheInvalidation = { changed: () => undefined };
      return createSenderIdService(
        store,
        cacheInvalidation,
        { isActive: async () => true },
        systemClock,
      );
    };

    it("return each name in its place, case-insensitively, and none of another tenant", async () => {
      const [one, other] = [newId("tenant"), newId("tenant")];
      const acme = await service().create(one, "Acme", true);
      const shop = await service().create(other, "Shop", true);
      const same = await service().create(other, "ACME", true);
      const found = await service().resolveMany([
        { tenantId: one, name: "aCME" },
        { tenantId: one, name: "Shop" },
        { tenantId: other, name: "shop" },
        { tenantId: other, name: "Acme" },
        { tenantId: newId("tenant"), name: "Acme" },
      ]);
      const ids = found.map((each) => each?.id);
      expect(ids).to.deep.equal([acme.id, undefined, shop.id, same.id, undefined]);
    });
  });
});
