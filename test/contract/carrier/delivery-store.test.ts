/** Conformance suite of the port `DeliveryStore`, on MongoDB: the counts of all replicas add up. */
import { expect } from "chai";
import type { DeliveryStore } from "../../../services/carrier/app/ports.ts";
import { migrate } from "../../../services/carrier/migrate.ts";
import { createDeliveryStore } from "../../../services/carrier/store/delivery-counts.ts";
import { eventually } from "../../support/poll.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const SLOT_MS = 300_000;
// The TTL index removes old counts.
const START = Math.floor(Date.now() / SLOT_MS) * SLOT_MS;

describe("the store of delivery counts", () => {
  let database: TestDatabase;
  let store: DeliveryStore;
  before(async () => {
    database = await openTestDatabase("carrier_deliveries", migrate);
    store = createDeliveryStore(database.mongo.db);
  });
  after(() => database?.close());

  const slot = (connectorId: string, atMs: number, submitted: number, delivered: number) => ({
    ...{ connectorId, country: "NG", atMs, submitted, delivered, undelivered: 1 },
  });
  /** Counts are written without waiting for the majority, so a read may miss them. */
  const reaches = (connectorId: string, fromMs: number, untilMs: number, expected: object[]) =>
    eventually(async () => {
      const sums = await store.sumDeliveries(fromMs, untilMs);
      const own = sums.filter((one) => one.connectorId === connectorId);
      expect(own).to.have.deep.members(expected);
      return true;
    });

  it("adds the counts of several flushes and sums the slots of a span, by connector and country", async () => {
    const of = (atMs: number, submitted: number, delivered: number) =>
      slot("spans", atMs, submitted, delivered);
    await store.addDeliveries([of(START, 10, 0), of(START - SLOT_MS, 5, 5)]);
    await store.addDeliveries([of(START, 1, 7), { ...of(START, 3, 3), country: "GH" }]);
    await store.addDeliveries([of(START - 3 * SLOT_MS, 100, 100), slot("other", START, 1, 1)]);
    const sum = { connectorId: "spans", country: "NG" };
    const inGhana = { ...sum, country: "GH", submitted: 3, delivered: 3, undelivered: 1 };
    await reaches("spans", START - SLOT_MS, START + 1, [
      { ...sum, submitted: 16, delivered: 12, undelivered: 3 },
      inGhana,
    ]);
    await reaches("spans", START - 3 * SLOT_MS, START, [
      { ...sum, submitted: 105, delivered: 105, undelivered: 2 },
    ]);
    expect(await store.sumDeliveries(START + 1, START + SLOT_MS)).to.deep.equal([]);
  });

  it("loses no count of a slot that several replicas add to at once", async () => {
    const adds = Array.from({ length: 30 }, () => store.addDeliveries([slot("busy", START, 2, 1)]));
    await Promise.all(adds);
    await reaches("busy", START, START + 1, [
      { connectorId: "busy", country: "NG", submitted: 60, delivered: 30, undelivered: 30 },
    ]);
  });
});
