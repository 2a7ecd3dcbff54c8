/** The routing service on a real database: storage, encryption, versions and notifications. */
import { expect } from "chai";
import { createHealthService } from "../../../services/routing/app/health.ts";
import {
  createTableReader,
  type TableReader,
} from "../../../services/routing/app/load-route-table.ts";
import {
  createRoutingService,
  type RoutingService,
} from "../../../services/routing/app/routing.ts";
import { migrate } from "../../../services/routing/migrate.ts";
import { createHealthStore } from "../../../services/routing/store/health.ts";
import { createRoutingStore } from "../../../services/routing/store/routing-store.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const START = Date.UTC(2026, 0, 1);
const KEYS = `k2:${Buffer.alloc(32, 2).toString("base64")},k1:${Buffer.alloc(32, 1).toString("base64")}`;

const SMPP = { host: "smsc.example", systemId: "me", password: "pa55word" };
const OTHER_KEYS = `k3:${Buffer.alloc(32, 3).toString("base64")}`;
const CONNECTOR = {
  id: "smsc",
  type: "smpp",
  state: "",
  ratePerSecond: 0,
  smpp: SMPP,
  http: undefined,
};
const ROUTE = {
  name: "main",
  connectorId: "smsc",
  enabled: true,
  priority: 0,
  weight: 1,
  senderIds: [],
  plans: [],
  tenantIds: [],
  trafficClasses: [],
  prices: [{ prefix: "234", price: 9_007_199_254_740_993n }],
  enabledFromMinute: 0,
  enabledUntilMinute: 0,
};

describe("the routing service", () => {
  const log = createLogger("test", "silent");
  const clock = createManualClock(START);
  let servers: TestServers;
  let mongo: Mongo;
  let service: RoutingService;
  let table: TableReader;
  let notified: number;
  const countNotification = () => {
    notified += 1;
  };

  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
  });
  after(async () => {
    await servers?.stop();
  });

  beforeEach(async () => {
    const database = freshDatabase("routing");
    mongo = await openMongo({ uri: servers.mongodbUri, database, log });
    await migrate(mongo.db);
    await migrate(mongo.db);
    notified = 0;
    const store = createRoutingStore({
      client: mongo.client,
      db: mongo.db,
      box: createSecretBox(KEYS),
      audit: createAuditLog(mongo.db, 3_600_000),
    });
    table = createTableReader(store, { list: async () => [] });
    service = createRoutingService({
      store,
      clock,
      notifier: { notifyChanged: countNotification },
    });
  });
  afterEach(async () => {
    await mongo.db.dropDatabase();
    await mongo.close();
  });

  async function codeOf(work: () => Promise<unknown>): Promise<string> {
    return work().then(
      () => "done",
      (error: unknown) => (error instanceof AppError ? error.code : String(error)),
    );
  }

  it("has the test connector from the first migration, and cannot remove it", async () => {
    expect((await service.listConnectors()).map(({ id }) => id)).to.deep.equal(["test"]);
    expect(await codeOf(() => service.removeConnector("test"))).to.equal(
      "invalid_state_transition",
    );
  });

  it("serves routes while a connector's key is missing, and a new password repairs it", async () => {
    await service.createConnector(CONNECTOR);
    const store = createRoutingStore({
      client: mongo.client,
      db: mongo.db,
      box: createSecretBox(OTHER_KEYS),
      audit: createAuditLog(mongo.db, 3_600_000),
    });
    const later = createRoutingService({
      store,
      clock,
      notifier: { notifyChanged: () => undefined },
    });
    const { connectors } = await createTableReader(store, { list: async () => [] }).read();
    expect(connectors.find(({ id }) => id === CONNECTOR.id)?.smpp?.password).to.equal("");
    expect(await codeOf(() => later.listConnectors())).to.match(/key/);
    const marked = await later.listReadable();
    expect(marked.map(({ id, isUnreadable }) => [id, isUnreadable])).to.deep.equal([
      ["smsc", true],
      ["test", false],
    ]);
    const change = (smpp: object, field: string) => () =>
      later.updateConnector(CONNECTOR.id, { ...CONNECTOR, smpp: { ...SMPP, ...smpp } }, [field]);
    // The service cannot read the old password, so it must keep it.
    expect(await codeOf(change({ window: 7 }, "smpp.window"))).to.match(/key/);
    // A change of state or rate needs no secret and keeps them.
    const rested = { ...CONNECTOR, state: "paused", ratePerSecond: 3 };
    const fields = ["state", "rate_per_second"];
    const paused = await later.updateConnector(CONNECTOR.id, rested, fields);
    expect(paused).to.include({ state: "paused", ratePerSecond: 3, isUnreadable: true });
    const [kept] = (await service.listConnectors()).filter(({ id }) => id === CONNECTOR.id);
    expect([kept?.smpp?.password, kept?.isUnreadable]).to.deep.equal(["pa55word", false]);
    expect(await codeOf(change({ password: "new-pass" }, "smpp.password"))).to.equal("done");
    const [repaired] = (await later.listConnectors()).filter(({ id }) => id === CONNECTOR.id);
    expect(repaired?.smpp?.password).to.equal("new-pass");
  });

  it("repairs an HTTP connector by a new receipt secret and all headers", async () => {
    const http = {
      url: "https://carrier.example/send",
      headers: { Authorization: "Bearer old" },
      receiptSecret: "an-old-secret-of-receipts",
    };
    const web = { ...CONNECTOR, id: "web", type: "http", smpp: undefined, http };
    await service.createConnector(web);
    const box = createSecretBox(OTHER_KEYS);
    const store = createRoutingStore({
      client: mongo.client,
      db: mongo.db,
      box,
      audit: createAuditLog(mongo.db, 3_600_000),
    });
    const later = createRoutingService({
      store,
      clock,
      notifier: { notifyChanged: () => undefined },
    });
    const change = (next: object, ...fields: string[]) => {
      const input = { ...web, http: { ...http, ...next } };
      return codeOf(() => later.updateConnector("web", input, fields));
    };
    const both = ["http.receipt_secret", "http.headers"];
    const receiptSecret = "a-new-secret-of-receipts";
    const headers = { Authorization: "Bearer new" };
    const hidden = { Authorization: "(hidden)" };
    expect(await change({ receiptSecret }, "http.receipt_secret")).to.match(/key/);
    expect(await change({ headers }, "http.headers")).to.match(/key/);
    expect(await change({ receiptSecret, headers: hidden }, ...both)).to.match(/key/);
    expect(await change({ receiptSecret, headers }, ...both)).to.equal("done");
    const [repaired] = (await later.listConnectors()).filter(({ id }) => id === "web");
    expect(repaired?.http).to.include({ url: http.url, receiptSecret });
    expect(repaired?.http?.headers).to.deep.equal(headers);
  });

  it("removes a connector whose key is missing", async () => {
    await service.createConnector(CONNECTOR);
    const box = createSecretBox(OTHER_KEYS);
    const store = createRoutingStore({
      client: mongo.client,
      db: mongo.db,
      box,
      audit: createAuditLog(mongo.db, 3_600_000),
    });
    const later = createRoutingService({
      store,
      clock,
      notifier: { notifyChanged: () => undefined },
    });
    expect(await codeOf(() => later.removeConnector(CONNECTOR.id))).to.equal("done");
  });

  it("refuses more prices than one answer can hold", async () => {
    await service.createConnector(CONNECTOR);
    const prices = Array.from({ length: 20_000 }, (_, at) => ({ prefix: String(at), price: 1 }));
    const full = Array.from({ length: 25 }, (_, at) => ({
      _id: `rte_${at}`,
      name: `r${at}`,
      prices,
    }));
    const options = { bypassDocumentValidation: true };
    await mongo.db.collection("routes").insertMany(full as never[], options);
    expect(await codeOf(() => service.createRoute(ROUTE, "ada"))).to.equal("validation_error");
    await mongo.db.collection("routes").deleteOne({ _id: "rte_0" as never });
    expect(await codeOf(() => service.createRoute(ROUTE, "ada"))).to.equal("done");
  });

  it("increments the version, notifies and audits at each accepted change", async () => {
    const before = (await table.read()).version;
    await service.createConnector(CONNECTOR);
    await service.createRoute(ROUTE, "ada");
    expect(await codeOf(() => service.createRoute(ROUTE, "ada"))).to.equal("already_exists");
    expect(await codeOf(() => service.createConnector(CONNECTOR))).to.equal("already_exists");
    expect(await codeOf(() => service.removeConnector("smsc"))).to.equal(
      "invalid_state_transition",
    );
    expect((await table.read()).version).to.equal(before + 2n);
    expect(notified).to.equal(2);
    const audit = await mongo.db.collection("audit").find().sort({ _id: 1 }).toArray();
    expect(audit.map(({ before: old, after }) => [old, JSON.parse(after).id])).to.deep.equal([
      ["", "smsc"],
      ["", (await service.listRoutes())[0]?.id],
    ]);
    expect(JSON.stringify(audit)).not.to.include("pa55word");
  });

  it("refuses to remove a connector while a route is created on it", async () => {
    for (let round = 0; round < 5; round++) {
      const id = `c${round}`;
      await service.createConnector({ ...CONNECTOR, id });
      await Promise.all([
        codeOf(() => service.createRoute({ ...ROUTE, name: id, connectorId: id }, "ada")),
        codeOf(() => service.removeConnector(id)),
      ]);
    }
    const connectors = new Set((await service.listConnectors()).map(({ id }) => id));
    for (const route of await service.listRoutes()) {
      expect(connectors.has(route.connectorId), route.name).to.equal(true);
    }
  });

  it("removes a route, frees its name and connector, and keeps its price versions", async () => {
    await service.createConnector(CONNECTOR);
    const { id } = await service.createRoute(ROUTE, "ada");
    const before = await table.read();
    expect((await service.removeRoute("main")).id).to.equal(id);
    const { version, routes } = await table.read();
    expect([version, routes]).to.deep.equal([before.version + 1n, []]);
    expect(await codeOf(() => service.removeRoute(id))).to.equal("not_found");
    expect((await service.createRoute(ROUTE, "ada")).id).not.to.equal(id);
    await service.removeRoute("main");
    expect(await codeOf(() => service.removeConnector("smsc"))).to.equal("done");
    expect(await mongo.db.collection("price_versions").countDocuments()).to.equal(2);
    const audit = await mongo.db.collection("audit").find({ after: "" }).sort({ _id: 1 }).toArray();
    const names = audit.map(({ before: old }) => JSON.parse(old));
    expect(names.map(({ id: removed, name }) => name ?? removed)).to.deep.equal([
      "main",
      "main",
      "smsc",
    ]);
  });

  it("imports all prices or none as a new version, and changes nothing in a dry run", async () => {
    await service.createConnector(CONNECTOR);
    await service.createRoute(ROUTE, "ada");
    const good = "prefix,price\n234,2.5\n44,10\n";
    const dry = await service.importPrices("main", good, true, "ada");
    expect(dry).to.include({ applied: false, version: 1 });
    expect(dry.changes.map(({ kind }) => kind)).to.deep.equal(["changed", "added"]);
    const bad = await codeOf(() => service.importPrices("main", `${good}x,1\n`, false, "ada"));
    expect(bad).to.equal("validation_error");
    expect((await service.listRoutes())[0]?.prices).to.deep.equal(ROUTE.prices);
    const done = await service.importPrices("main", good, false, "ada");
    expect(done).to.include({ applied: true, version: 2 });
    const versions = await mongo.db.collection("price_versions").find().toArray();
    expect(versions.map(({ version }) => version)).to.have.members([1, 2]);
  });

  it("refuses a route on an unknown connector or on the test connector", async () => {
    for (const connectorId of ["unknown", "test"]) {
      const made = await codeOf(() => service.createRoute({ ...ROUTE, connectorId }, "ada"));
      expect(made).to.equal("validation_error");
    }
  });

  it("keeps all prices of concurrent changes, each as a version", async () => {
    await service.createConnector(CONNECTOR);
    await service.createRoute(ROUTE, "ada");
    const prefixes = Array.from({ length: 8 }, (_, at) => `4${at}`);
    await Promise.all(
      prefixes.map((prefix, at) => {
        const prices = [{ prefix, price: BigInt(at) }];
        return service.updateRoute("main", { ...ROUTE, prices }, ["prices.set"], "ada");
      }),
    );
    const [route] = await service.listRoutes();
    expect(route?.prices.map(({ prefix }) => prefix)).to.have.members(["234", ...prefixes]);
    const versions = await mongo.db.collection("price_versions").find().toArray();
    expect(versions.map(({ version }) => version)).to.have.members([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const set = service.updateRoute("main", { ...ROUTE, prices: [] }, ["prices.set"], "ada");
    expect(await codeOf(() => set)).to.equal("validation_error");
  });

  it("tries a failing connector last for every reader, and notifies once", async () => {
    await service.createConnector(CONNECTOR);
    notified = 0;
    const health = createHealthService({
      store: createHealthStore(mongo.db),
      clock,
      monotonicClock: clock,
      intervalMs: 1000,
      listConnectorIds: async () => ["smsc"],
      notifier: { notifyChanged: countNotification },
    });
    const report = {
      connectorId: "smsc",
      bind: "c1/0",
      link: "bound",
      windowUsed: 0,
      window: 10,
      submitsPerSecond: 5,
      throttled: 0,
      unknown: 0,
      answerMsP99: 1,
      lastError: "",
      reportedAtMs: 0,
      failureShare: 0.9,
      submitted: 10,
      receipts: 0,
      receiptSecondsP50: 0,
      answers: undefined,
      failures: undefined,
    };
    // Reports are written without waiting for the majority, so an evaluation may miss them.
    await eventually(async () => {
      clock.advance(1000);
      await health.report([report]);
      await health.evaluateAll();
      return (await health.listFailing()).includes("smsc");
    });
    expect(notified).to.equal(1);
    expect((await health.listReports()).map(({ bind }) => bind)).to.deep.equal(["c1/0"]);

    const delivery = {
      ...{ connectorId: "smsc", country: "", state: "too_few", submitted: 1, delivered: 0 },
      ...{ undelivered: 0, rate: 0, baselineRate: undefined, reportedAtMs: 0 },
      ...{ withoutReceiptHour: 1, withoutReceiptDay: 0 },
    };
    await health.reportDeliveries([delivery, { ...delivery, country: "NG" }]);
    await health.reportDeliveries([{ ...delivery, state: "ok" }]);
    await eventually(async () => {
      const stored = await health.listDeliveries();
      expect(stored).to.deep.equal([
        { ...delivery, state: "ok", reportedAtMs: clock.now() },
        { ...delivery, country: "NG", reportedAtMs: clock.now() },
      ]);
      return true;
    });
  });
});
