/** Delivery counts on a real MongoDB: the counts of all replicas add up. */
import { expect } from "chai";
import { migrate } from "../../../services/carrier/migrate.ts";
import { createDeliveryStore } from "../../../services/carrier/store/delivery-counts.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const SLOT_MS = 300_000;
// The TTL index removes old counts.
const START = Math.floor(Date.now() / SLOT_MS) * SLOT_MS;

describe("the store of delivery counts", () => {
  let servers: TestServers;
  let mongo: Mongo;

  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    const database = freshDatabase("carrier_deliveries");
    const log = createLogger("test", "silent");
    mongo = await openMongo({ uri: servers.mongodbUri, database, log });
    await migrate(mongo.db);
  });

  after(async () => {
    await mongo?.close();
    await servers?.stop();
  });

  it("adds the counts of several flushes and sums the slots of a span", async () => {
    const store = createDeliveryStore(mongo.db);
    const slot = (atMs: number, submitted: number, delivered: number, country = "NG") => ({
      ...{ connectorId: "smsc", country, atMs, submitted, delivered, undelivered: 0 },
    });
    await store.addDeliveries([slot(START, 10, 0), slot(START - SLOT_MS, 5, 5)]);
    await store.addDeliveries([slot(START, 1, 7), slot(START, 3, 3, "GH")]);
    await store.addDeliveries([slot(START - 3 * SLOT_MS, 100, 100)]);
    // Counts are written without waiting for the majority, so a read may miss them.
    await eventually(async () => {
      expect(await store.sumDeliveries(START - SLOT_MS, START + 1)).to.have.deep.members([
        { connectorId: "smsc", country: "NG", submitted: 16, delivered: 12, undelivered: 0 },
        { connectorId: "smsc", country: "GH", submitted: 3, delivered: 3, undelivered: 0 },
      ]);
      return true;
    });
    expect(await store.sumDeliveries(START + 1, START + SLOT_MS)).to.deep.equal([]);
  });
});
