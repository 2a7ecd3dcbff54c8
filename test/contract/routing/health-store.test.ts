/** Conformance suite of the port `HealthStore`, run on the memory store and on MongoDB. */
import { expect } from "chai";
import type { HealthStore } from "../../../services/routing/app/ports.ts";
import type { DeliveryHealth } from "../../../services/routing/domain/delivery-health.ts";
import {
  type BindHealth,
  type ConnectorHealth,
  initialHealth,
} from "../../../services/routing/domain/health.ts";
import { migrate } from "../../../services/routing/migrate.ts";
import { createHealthStore } from "../../../services/routing/store/health.ts";
import { createMemoryHealthStore } from "../../support/memory-health-store.ts";
import { eventually } from "../../support/poll.ts";
import { openTestDatabase } from "../../support/test-database.ts";

type Harness = { readonly store: HealthStore; close(): Promise<void> };

const HARNESSES: Readonly<Record<string, () => Promise<Harness>>> = {
  async "in memory"() {
    return { store: createMemoryHealthStore(), close: async () => undefined };
  },
  async "on MongoDB"() {
    const { mongo, close } = await openTestDatabase("health_store", migrate);
    return { store: createHealthStore(mongo.db), close };
  },
};

const BIND: BindHealth = {
  ...{ connectorId: "smsc", bind: "0", link: "bound", windowUsed: 1, window: 10 },
  ...{ submitsPerSecond: 2, throttled: 0, unknown: 0, answerMsP99: 3, lastError: "" },
  ...{ failureShare: 0, submitted: 4, receipts: 3, receiptSecondsP50: 1.5 },
  ...{ answers: 4, failures: 1, adaptiveRate: 20 },
  // MongoDB removes a report by its age.
  reportedAtMs: Date.now(),
};
const DELIVERY: DeliveryHealth = {
  ...{ connectorId: "smsc", country: "NG", state: "normal", submitted: 9, delivered: 8 },
  ...{ undelivered: 1, rate: 0.9, baselineRate: 0.95, withoutReceiptHour: 0, withoutReceiptDay: 1 },
  reportedAtMs: BIND.reportedAtMs,
};

for (const [place, open] of Object.entries(HARNESSES)) {
  describe(`the store of connectors' health ${place}`, () => {
    let harness: Harness;
    let store: HealthStore;
    before(async () => {
      harness = await open();
      store = harness.store;
    });
    after(() => harness?.close());

    const healthOf = async (connectorId: string): Promise<ConnectorHealth | undefined> =>
      (await store.listHealth()).find((health) => health.connectorId === connectorId);

    /** The write of a report is not awaited by a majority of the servers, so a read may see it later. */
    const shows = (list: () => Promise<unknown>, expected: unknown) =>
      eventually(async () => {
        expect(await list()).to.deep.equal(expected);
        return true;
      });

    it("keeps the latest report of each bind, with the members that it lacks", async () => {
      const sparse = {
        ...{ ...BIND, bind: "1", answers: undefined, failures: undefined },
        adaptiveRate: undefined,
      };
      await store.saveReports([]);
      await store.saveReports([BIND, sparse]);
      const later = { ...BIND, submitted: 5, reportedAtMs: BIND.reportedAtMs + 1 };
      await store.saveReports([later, { ...BIND, connectorId: "other" }]);
      await shows(store.listReports, [{ ...BIND, connectorId: "other" }, later, sparse]);
    });

    it("keeps the latest deliveries of each connector and country", async () => {
      const all = { ...DELIVERY, country: "", rate: undefined, baselineRate: undefined };
      await store.saveDeliveries([DELIVERY, all]);
      const later = { ...DELIVERY, delivered: 9 };
      await store.saveDeliveries([later]);
      await store.saveDeliveries([]);
      await shows(store.listDeliveries, [all, later]);
    });

    it("saves a change only if no other replica has saved one since it was read", async () => {
      const before = initialHealth("guarded", 1000);
      const failing: ConnectorHealth = {
        ...before,
        ...({ state: "failing", cause: "link", sinceMs: 2000, strikes: 2 } as const),
        counted: [{ bind: "0", answers: 4, failures: 1 }],
      };
      await store.saveHealth([{ before, after: failing }]);
      expect(await healthOf("guarded")).to.deep.equal(failing);
      const stale = { ...before, strikes: 1 };
      const other = initialHealth("another", 1000);
      await store.saveHealth([
        { before, after: stale },
        { before: other, after: other },
      ]);
      expect(await healthOf("guarded")).to.deep.equal(failing);
      expect(await healthOf("another"), "of the same call").to.deep.equal(other);
      await store.saveHealth([{ before: failing, after: before }]);
      expect(await healthOf("guarded")).to.deep.equal(before);
    });

    it("removes the health of removed connectors, and no other", async () => {
      const [kept, removed] = [initialHealth("kept", 1), initialHealth("removed", 1)];
      await store.saveHealth([kept, removed].map((after) => ({ before: after, after })));
      await store.removeHealth(["removed", "unknown"]);
      expect(await healthOf("kept")).to.deep.equal(kept);
      expect(await healthOf("removed")).to.equal(undefined);
    });
  });
}
