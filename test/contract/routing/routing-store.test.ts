/** Conformance suite of the port `RoutingStore`, on MongoDB. */
import { expect } from "chai";
import type { RoutingChange, RoutingStore } from "../../../services/routing/app/ports.ts";
import type { Connector } from "../../../services/routing/domain/connector.ts";
import { HTTP_DEFAULTS } from "../../../services/routing/domain/http-settings.ts";
import type { StoredQuietRule } from "../../../services/routing/domain/quiet-hours.ts";
import type { Route } from "../../../services/routing/domain/route.ts";
import { SMPP_DEFAULTS } from "../../../services/routing/domain/smpp-settings.ts";
import { migrate } from "../../../services/routing/migrate.ts";
import { createRoutingStore } from "../../../services/routing/store/routing-store.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.UTC(2026, 0, 1);
const keyOf = (id: number) => `k${id}:${Buffer.alloc(32, id).toString("base64")}`;
const SECRETS = ["pa55word", "Bearer abc", "secret-of-receipts"] as const;
const [PASSWORD, AUTHORIZATION, RECEIPT_SECRET] = SECRETS;

describe("the store of routing", () => {
  const database = useStoreDatabase("routing_store", migrate);
  let store: RoutingStore;
  let other: RoutingStore;
  const open = (keys = `${keyOf(2)},${keyOf(1)}`) =>
    createRoutingStore({ ...database.parts(), box: createSecretBox(keys) });
  before(() => {
    store = open();
    other = open();
  });

  let count = 0;
  const connectorOf = (about: Partial<Connector> = {}): Connector => {
    count += 1;
    return {
      ...({ id: `c-${count}`, type: "smpp", state: "active", ratePerSecond: 5 } as const),
      smpp: { ...SMPP_DEFAULTS, host: "smsc.example", systemId: "me", password: PASSWORD },
      ...{ http: undefined, version: 1, isUnreadable: false },
      ...{ createdAtMs: AT_MS, updatedAtMs: AT_MS + 1, ...about },
    };
  };
  const httpConnectorOf = () => {
    const headers = { Authorization: AUTHORIZATION };
    const http = { ...HTTP_DEFAULTS, url: "https://carrier.example/send", headers };
    return connectorOf({
      ...({ type: "http", smpp: undefined } as const),
      http: { ...http, receiptSecret: RECEIPT_SECRET },
    });
  };
  const routeOf = (about: Partial<Route> = {}): Route => {
    const id = newId("route");
    return {
      ...{ id, name: `route of ${id}`, connectorId: "smsc", enabled: true, priority: 2, weight: 3 },
      ...{ senderIds: ["ACME"], plans: ["large"], tenantIds: [newId("tenant")] },
      ...{ trafficClasses: ["promotional"], prices: [{ prefix: "234", price: 5n }] },
      ...{ pricesVersion: 1, enabledFromMinute: 60, enabledUntilMinute: 1200 },
      ...{ createdAtMs: AT_MS, updatedAtMs: AT_MS + 1, ...about },
    };
  };
  const ruleOf = (about: Partial<StoredQuietRule> = {}): StoredQuietRule => ({
    ...({ country: "NG", trafficClass: "promotional", timeZone: "Africa/Lagos" } as const),
    ...{ windows: [{ fromMinute: 1200, untilMinute: 480 }], updatedAtMs: AT_MS, ...about },
  });
  async function saveConnector(connector: Connector, on = store): Promise<Connector> {
    await on.change((tx) => tx.saveConnector(connector));
    return connector;
  }
  async function saveRoute(route: Route): Promise<Route> {
    await store.change((tx) => tx.saveRoute(route));
    return route;
  }
  const connectorIn = async (list: Promise<Connector[]>, id: string) =>
    (await list).find((one) => one.id === id);
  const raw = (name: string) => database.parts().db.collection<{ _id: string }>(name);

  describe("a change", () => {
    it("increases the version by one and returns what its work returns", async () => {
      const before = await store.readVersion();
      expect(await store.change(async () => "done")).to.equal("done");
      await saveRoute(routeOf());
      expect(await other.readVersion()).to.equal(before + 2n);
    });

    it("that fails leaves neither its writes nor an audit entry nor another version", async () => {
      const before = await store.readVersion();
      const [connector, route] = [connectorOf(), routeOf()];
      const failed = store.change(async (tx) => {
        await tx.saveConnector(connector);
        await tx.saveRoute(route);
        await tx.savePriceVersion(route, "ada");
        throw new Error("no");
      });
      expect(await codeOf(failed)).to.equal("internal_error");
      expect(await store.readVersion()).to.equal(before);
      expect(await connectorIn(store.listConnectors(), connector.id)).to.equal(undefined);
      expect(await store.findRoute(route.id)).to.equal(undefined);
      expect(await raw("price_versions").countDocuments({ route_id: route.id })).to.equal(0);
      expect(await database.auditOf(connector.id)).to.deep.equal([]);
    });

    it("is not made without its audit entry", async () => {
      const before = await store.readVersion();
      const route = routeOf();
      const save = () => store.change((tx) => tx.saveRoute(route));
      expect(await database.withoutAudit(route.id, save)).to.equal("internal_error");
      expect(await store.findRoute(route.id)).to.equal(undefined);
      expect(await store.readVersion()).to.equal(before);
    });

    it("reads what it has written itself, which others read after it", async () => {
      const route = routeOf();
      await store.change(async (tx) => {
        await tx.saveRoute(route);
        expect(await tx.findRoute(route.name)).to.deep.equal(route);
        expect(await other.findRoute(route.id)).to.equal(undefined);
      });
      expect(await other.findRoute(route.id)).to.deep.equal(route);
    });

    it("reads the result of the one before: none of many at once on two processes is lost", async () => {
      const { id } = await saveConnector(connectorOf());
      const before = await store.readVersion();
      const add = async (tx: RoutingChange) => {
        const connector = await tx.findConnector(id, true);
        if (connector === undefined) throw new Error("it is gone");
        await tx.saveConnector({ ...connector, ratePerSecond: connector.ratePerSecond + 1 });
      };
      await Promise.all(
        Array.from({ length: 12 }, (_, at) => (at % 2 ? store : other).change(add)),
      );
      expect((await connectorIn(store.listConnectors(), id))?.ratePerSecond).to.equal(5 + 12);
      expect(await store.readVersion()).to.equal(before + 12n);
      // Its work may run again after a conflict; each change has one entry of its own.
      const rates = (await database.auditOf(id)).slice(1).map(({ before: old }) => old);
      expect(rates).to.deep.equal(
        Array.from({ length: 12 }, (_, at) => ({ rate_per_second: 5 + at })),
      );
    });

    it("is serialised with another one that reads what it writes", async () => {
      for (let round = 0; round < 5; round += 1) {
        const { id } = await saveConnector(connectorOf());
        const route = routeOf({ connectorId: id });
        await Promise.all([
          store.change(async (tx) => {
            if ((await tx.findConnector(id, false)) !== undefined) await tx.saveRoute(route);
          }),
          other.change(async (tx) => {
            if ((await tx.listRouteNames(id)).length === 0) await tx.removeConnector(id);
          }),
        ]);
        const isThere = (await connectorIn(store.listConnectors(), id)) !== undefined;
        const hasRoute = (await store.findRoute(route.id)) !== undefined;
        expect(isThere, `round ${round}`).to.equal(hasRoute);
      }
    });

    it("is possible at once on two processes before any other one", async () => {
      await raw("counters").deleteMany({});
      expect(await store.readVersion()).to.equal(0n);
      const changes = [store, other, store, other].map((on) => on.change(async () => "done"));
      expect(await Promise.all(changes)).to.deep.equal(changes.map(() => "done"));
      expect(await store.readVersion()).to.equal(4n);
    });
  });

  describe("a connector", () => {
    it("is read with its secrets as it was saved, in the order of ids, until it is removed", async () => {
      const [smpp, http] = [
        await saveConnector(connectorOf()),
        await saveConnector(httpConnectorOf()),
      ];
      for (const list of [store.listConnectors, other.listReadable]) {
        const listed = await list();
        expect(listed).to.deep.include.members([smpp, http]);
        const ids = listed.map(({ id }) => id);
        expect(ids).to.deep.equal(ids.toSorted()).and.include("test");
      }
      const changed = { ...smpp, state: "paused", version: 2, updatedAtMs: AT_MS + 9 } as const;
      await saveConnector(changed);
      for (const needsSecrets of [true, false]) {
        const find = (id: string) => store.change((tx) => tx.findConnector(id, needsSecrets));
        expect(await find(smpp.id)).to.deep.equal(changed);
        expect(await find("unknown")).to.equal(undefined);
      }
      await store.change((tx) => tx.removeConnector(smpp.id));
      expect(await connectorIn(store.listConnectors(), smpp.id)).to.equal(undefined);
    });

    it("is stored and audited without a secret in plain text, under the first key", async () => {
      const { id } = await saveConnector(connectorOf());
      const web = await saveConnector(httpConnectorOf());
      await saveConnector({ ...web, http: { ...(web.http ?? HTTP_DEFAULTS), timeoutMs: 9 } });
      const stored = JSON.stringify(await raw("connectors").find().toArray());
      expect(stored).to.include('"k2.').and.not.include('"k1.');
      const trail = JSON.stringify([await database.auditOf(id), await database.auditOf(web.id)]);
      for (const secret of SECRETS) expect(stored + trail).not.to.include(secret);
      // A ciphertext opens for its own connector alone.
      const thief = await saveConnector(connectorOf());
      const [own] = await raw("connectors").find({ _id: id }).toArray();
      const smpp = (own as unknown as { smpp: object }).smpp;
      await raw("connectors").updateOne({ _id: thief.id }, { $set: { smpp } });
      expect((await connectorIn(store.listReadable(), thief.id))?.isUnreadable).to.equal(true);
      await store.change((tx) => tx.removeConnector(thief.id));
    });

    it("whose key is missing is listed without secrets or refused, and keeps its settings when saved", async () => {
      const saved = [await saveConnector(connectorOf()), await saveConnector(httpConnectorOf())];
      const keyless = open(keyOf(3));
      expect(await codeOf(keyless.listConnectors())).to.equal("internal_error");
      for (const connector of saved) {
        const { id, smpp, http } = connector;
        const found = await connectorIn(keyless.listReadable(), id);
        expect(found).to.deep.equal({
          ...{ ...connector, isUnreadable: true },
          smpp: smpp && { ...smpp, password: "" },
          http: http && { ...http, headers: {}, receiptSecret: "" },
        });
        const read = (needsSecrets: boolean) =>
          keyless.change((tx) => tx.findConnector(id, needsSecrets));
        expect(await codeOf(read(true))).to.equal("internal_error");
        expect(await read(false)).to.deep.equal(found);
        if (found === undefined) throw new Error("it is not listed");
        await saveConnector({ ...found, state: "paused" }, keyless);
        const kept = await connectorIn(store.listConnectors(), id);
        expect(kept).to.deep.equal({ ...connector, state: "paused" });
      }
      for (const connector of saved) {
        const repaired = { ...connector, ratePerSecond: 9 };
        await saveConnector(repaired, keyless);
        expect(await connectorIn(keyless.listReadable(), connector.id)).to.deep.equal(repaired);
      }
      for (const { id } of saved) await store.change((tx) => tx.removeConnector(id));
    });

    it("and a route keep the fields that a newer release has added", async () => {
      const [connector, route] = [await saveConnector(connectorOf()), await saveRoute(routeOf())];
      const things = [
        { name: "connectors", _id: connector.id },
        { name: "routes", _id: route.id },
      ];
      for (const { name, _id } of things) {
        await raw(name).updateOne({ _id }, { $set: { added_later: 7 } as never });
      }
      await saveConnector({ ...connector, version: 2 });
      await saveRoute({ ...route, priority: 9 });
      for (const { name, _id } of things) {
        expect(await raw(name).findOne({ _id })).to.include({ added_later: 7 });
      }
    });
  });

  describe("a route", () => {
    it("is found by its id and its name as it was saved, with prices beyond 2^53, until it is removed", async () => {
      const prices = [
        { prefix: "234", price: 9_007_199_254_740_993n },
        { prefix: "1", price: 0n },
      ];
      const route = await saveRoute(routeOf({ prices }));
      const second = await saveRoute(routeOf({ enabled: false, trafficClasses: [], prices: [] }));
      for (const idOrName of [route.id, route.name]) {
        expect(await other.findRoute(idOrName)).to.deep.equal(route);
        expect(await store.change((tx) => tx.findRoute(idOrName))).to.deep.equal(route);
      }
      expect(await store.findRoute("unknown")).to.equal(undefined);
      const listed = await store.listRoutes();
      expect(listed).to.deep.include.members([route, second]);
      expect(listed.map(({ id }) => id)).to.deep.equal(listed.map(({ id }) => id).toSorted());
      await store.change((tx) => tx.removeRoute(route.id));
      expect(await store.findRoute(route.name)).to.equal(undefined);
      const again = await saveRoute(routeOf({ name: route.name }));
      expect(await store.findRoute(route.name)).to.deep.equal(again);
    });

    it("has its name alone, also when several are saved at once", async () => {
      const wanted = [1, 2, 3].map(() => routeOf({ name: "taken" }));
      const codes = await Promise.all(
        wanted.map((route, at) =>
          codeOf((at % 2 ? store : other).change((tx) => tx.saveRoute(route))),
        ),
      );
      expect(codes.toSorted()).to.deep.equal(["already_exists", "already_exists", "done"]);
      const refused = wanted[codes.indexOf("already_exists")];
      expect(await database.auditOf(refused?.id ?? "")).to.deep.equal([]);
      const renamed = { ...(await saveRoute(routeOf())), name: "taken" };
      const rename = store.change((tx) => tx.saveRoute(renamed));
      expect(await codeOf(rename)).to.equal("already_exists");
    });

    it("of a release without traffic classes has none", async () => {
      const route = await saveRoute(routeOf());
      await raw("routes").updateOne(
        { _id: route.id },
        { $unset: { traffic_classes: "" } as never },
      );
      expect(await store.findRoute(route.id)).to.deep.equal({ ...route, trafficClasses: [] });
    });

    it("is named by its connector, and its prices are counted with those of all others", async () => {
      const connectorId = connectorOf().id;
      const [one, two] = [
        await saveRoute(routeOf({ connectorId })),
        await saveRoute(routeOf({ connectorId, prices: [] })),
      ];
      const names = (id: string) => store.change((tx) => tx.listRouteNames(id));
      expect(await names(connectorId)).to.have.members([one.name, two.name]);
      expect(await names("none")).to.deep.equal([]);
      const sum = (await store.listRoutes()).reduce((all, { prices }) => all + prices.length, 0);
      const others = (id: string) => store.change((tx) => tx.countOtherPrices(id));
      expect(await others(one.id)).to.equal(sum - 1);
      expect(await others("rte_new")).to.equal(sum);
    });

    it("keeps each version of its prices once, also after it is removed", async () => {
      const route = await saveRoute(routeOf());
      const save = (actor: string, about: Partial<Route> = {}) =>
        codeOf(store.change((tx) => tx.savePriceVersion({ ...route, ...about }, actor)));
      expect(await save("ada")).to.equal("done");
      expect(await save("bob")).not.to.equal("done");
      expect(await save("bob", { pricesVersion: 2, prices: [] })).to.equal("done");
      await store.change((tx) => tx.removeRoute(route.id));
      const versions = raw("price_versions").find({ route_id: route.id }).sort({ version: 1 });
      const kept = (await versions.toArray()) as unknown as { actor: string; prices: unknown[] }[];
      expect(kept.map(({ actor, prices }) => [actor, prices.length])).to.deep.equal([
        ["ada", 1],
        ["bob", 0],
      ]);
    });

    it("leaves audit entries that name the prices that differ alone", async () => {
      const prices = [1n, 2n, 3n].map((price, at) => ({ prefix: `4${at}`, price }));
      const route = await saveRoute(routeOf({ prices }));
      await store.change(async (tx) => {
        const found = await tx.findRoute(route.name);
        const [first, second] = found?.prices ?? [];
        const next = [first, { prefix: "41", price: 25_0000n }, { prefix: "5", price: 10_0000n }];
        expect(second?.prefix).to.equal("41");
        await tx.saveRoute({ ...route, prices: next as Route["prices"] });
      });
      await store.change(async (tx) => {
        await tx.findRoute(route.id);
        await tx.removeRoute(route.id);
      });
      const [made, changed, removed] = await database.auditOf(route.id);
      expect(made?.before).to.equal(undefined);
      expect(changed).to.deep.equal({
        before: { prices: { 41: "0.0002", 42: "0.0003" } },
        after: { prices: { 41: "25.0000", 5: "10.0000" } },
      });
      expect(removed?.after).to.equal(undefined);
    });
  });

  it("replaces quiet hours of one country and class, lists them in order, and audits the change", async () => {
    const transactional = ruleOf({ trafficClass: "transactional" });
    const ghana = ruleOf({ country: "GH", timeZone: "Africa/Accra" });
    for (const rule of [transactional, ruleOf(), ghana]) {
      await store.change((tx) => tx.saveQuietRule(rule));
    }
    const removed = ruleOf({ windows: [], updatedAtMs: AT_MS + 5 });
    await store.change(async (tx) => {
      await tx.listQuietRules();
      await tx.saveQuietRule(removed);
    });
    const rules = [ghana, removed, transactional];
    expect(await other.listQuietRules()).to.deep.equal(rules);
    expect(await store.change((tx) => tx.listQuietRules())).to.deep.equal(rules);
    const [, change] = await database.auditOf("NG|promotional");
    expect(change?.after).to.deep.include({ windows: [] });
    expect(change?.before).to.deep.include({
      windows: [{ from_minute: 1200, until_minute: 480 }],
    });
  });
});
