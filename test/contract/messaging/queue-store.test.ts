/** Conformance suite of the port `QueueStore`, run on the memory store and on MongoDB. */
import { expect } from "chai";
import type { ClaimBatch, QueueScan, QueueStore } from "../../../services/messaging/app/ports.ts";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { createQueueStore } from "../../../services/messaging/store/queue.ts";
import { idAt } from "../../support/ids-at.ts";
import { createMemoryQueueStore } from "../../support/memory-queue-store.ts";
import { messageIn, START_MS } from "../../support/messages.ts";
import { openMessagingDatabase } from "../../support/messaging-store-harness.ts";

type Harness = {
  readonly store: QueueStore;
  put(messages: readonly Message[]): Promise<void>;
  close(): Promise<void>;
};

const HARNESSES: Readonly<Record<string, () => Promise<Harness>>> = {
  async "in memory"() {
    const store = createMemoryQueueStore();
    return { store, put: store.put, close: async () => undefined };
  },
  async "on MongoDB"() {
    const database = await openMessagingDatabase();
    const { put, close } = database;
    return { store: createQueueStore(database.mongo.db), put, close };
  },
};

const NOW_MS = START_MS + 1000;
const NO_SPAN = () => undefined;

for (const [place, open] of Object.entries(HARNESSES)) {
  describe(`the store of messaging's queues ${place}`, () => {
    let harness: Harness;
    let store: QueueStore;
    let serial = 0;
    before(async () => {
      harness = await open();
      store = harness.store;
    });
    after(() => harness?.close());

    /** A connector that no other test uses, and messages at it. */
    function atOwnConnector() {
      serial += 1;
      const connectorId = `connector-${serial}`;
      const routes = [{ routeId: "rte_A", connectorId, price: 40_000n }];
      const make = (
        overrides: Partial<Message> = {},
        state: Parameters<typeof messageIn>[0] = "waiting",
      ) => messageIn(state, { id: idAt("message", START_MS), routes, ...overrides });
      return { connectorId, make };
    }

    function batchOf(connectorId: string, found: readonly Message[], id: string): ClaimBatch {
      const claim = { id, carrierId: `carrier of ${connectorId}`, atMs: NOW_MS };
      return { connectorId, priority: "single", found, claim, spanOf: NO_SPAN };
    }
    const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id);

    it("names the queues that are not empty, and the tenants in each", async () => {
      const { connectorId, make } = atOwnConnector();
      await harness.put([
        make({ tenantId: "ten_b" }),
        make({ tenantId: "ten_a" }),
        make({ tenantId: "ten_b" }),
        make({ tenantId: "ten_c", priority: "bulk" }),
        make({ tenantId: "ten_d" }, "sent"),
        make({ tenantId: "ten_d" }, "quiet"),
        make({ tenantId: "ten_d" }, "scheduled"),
      ]);
      const names = (await store.queueNames()).filter((name) => name.startsWith(`${connectorId}|`));
      expect(names).to.have.members([`${connectorId}|1`, `${connectorId}|2`]);
      expect(await store.waitingTenants(connectorId, "single")).to.have.members(["ten_a", "ten_b"]);
      expect(await store.waitingTenants(connectorId, "bulk")).to.deep.equal(["ten_c"]);
      expect(await store.waitingTenants("nowhere", "bulk")).to.deep.equal([]);
    });

    it("scans tenant by tenant, each one's oldest first, from an id on, up to a limit", async () => {
      const { connectorId, make } = atOwnConnector();
      const a = [1, 2, 3].map(() => make({ tenantId: "ten_a" }));
      const b = [1, 2].map(() => make({ tenantId: "ten_b" }));
      await harness.put([...b, ...a.toReversed(), make({ tenantId: "ten_c" })]);
      const scan = async (more: Partial<QueueScan>) =>
        idsOf(
          await store.findWaiting(connectorId, "single", {
            ...{ tenantIds: ["ten_b", "ten_a"], fromId: "", nowMs: NOW_MS, limit: 100, ...more },
          }),
        );
      expect(await scan({})).to.deep.equal(idsOf([...a, ...b]));
      expect(await scan({ limit: 4 })).to.deep.equal(idsOf([...a, ...b]).slice(0, 4));
      const second = a[1]?.id ?? "";
      expect(await scan({ tenantIds: ["ten_a"], fromId: second })).to.deep.equal(idsOf(a.slice(1)));
    });

    it("gives a message that was put off from its time on, and not as a fresh one", async () => {
      const { connectorId, make } = atOwnConnector();
      const [fresh, late] = [make(), make({ notBeforeMs: NOW_MS + 5 })];
      await harness.put([fresh, late]);
      const { tenantId } = fresh;
      const scan = { tenantIds: [tenantId], fromId: "", limit: 10 };
      const query = { connectorId, priority: "single" as const, ids: idsOf([late, fresh]) };
      for (const [nowMs, due] of [
        [NOW_MS + 4, [fresh]],
        [NOW_MS + 5, [fresh, late]],
      ] as const) {
        const found = await store.findWaiting(connectorId, "single", { ...scan, nowMs });
        expect(idsOf(found)).to.deep.equal(idsOf(due));
        const [byIds = []] = await store.findByIds([{ ...query, nowMs }]);
        expect(idsOf(byIds)).to.have.members(idsOf(due));
        const only = await store.findWaiting(connectorId, "single", {
          ...{ ...scan, nowMs, isFresh: true },
        });
        expect(idsOf(only)).to.deep.equal([fresh.id]);
      }
    });

    it("finds messages by id in the order of each query, and only those that wait in its queue", async () => {
      const [here, there] = [atOwnConnector(), atOwnConnector()];
      const [one, two] = [here.make(), here.make()];
      const other = there.make({ priority: "bulk" });
      const sent = here.make({}, "sent");
      await harness.put([one, two, other, sent]);
      const found = await store.findByIds([
        {
          ...{ connectorId: here.connectorId, priority: "single", nowMs: NOW_MS },
          ids: ["msg_unknown", two.id, other.id, one.id, sent.id],
        },
        { connectorId: there.connectorId, priority: "bulk", nowMs: NOW_MS, ids: [other.id] },
        { connectorId: there.connectorId, priority: "single", nowMs: NOW_MS, ids: [other.id] },
      ]);
      expect(found.map(idsOf)).to.deep.equal([[two.id, one.id], [other.id], []]);
      expect(found[1]?.[0]).to.deep.equal(other);
    });

    it("moves claimed messages to the carrier, with the claim, its span and the next revision", async () => {
      const { connectorId, make } = atOwnConnector();
      const [one, two] = [make(), make()];
      await harness.put([one, two]);
      const batch = batchOf(connectorId, [one, two], "claim-1");
      const openSpan = { fromMs: NOW_MS, untilMs: NOW_MS + 60_000 };
      const spanOf = ({ id }: Message) => (id === two.id ? openSpan : undefined);
      const [claimed = []] = await store.claim([{ ...batch, spanOf }]);
      const moved = { phase: "sending", revision: 2 } as const;
      expect(claimed).to.deep.equal([
        { ...one, ...moved, claim: batch.claim },
        { ...two, ...moved, claim: { ...batch.claim, openSpan } },
      ]);
      const names = await store.sendingNames(batch.claim.carrierId);
      expect(names).to.deep.equal([`${connectorId}|sending|${batch.claim.carrierId}`]);
      expect(await store.findSending(names, "", 10)).to.deep.equal(claimed);
      expect(await store.countIn(connectorId, "single", 10)).to.equal(0);
    });

    it("claims no message that another claim or a change has taken first, and the same claim again", async () => {
      const { connectorId, make } = atOwnConnector();
      const [taken, changed, cancelled, free] = [make(), make(), make(), make()];
      await harness.put([taken, changed, cancelled, free]);
      await store.claim([batchOf(connectorId, [taken], "claim-first")]);
      await harness.put([
        { ...changed, revision: 2 },
        messageIn("cancelled", { id: cancelled.id, routes: cancelled.routes }),
      ]);
      const second = batchOf(connectorId, [taken, changed, cancelled, free], "claim-second");
      for (const time of ["at first", "repeated"]) {
        const [claimed = []] = await store.claim([second]);
        expect(idsOf(claimed), time).to.deep.equal([free.id]);
      }
      const other = atOwnConnector();
      const elsewhere = other.make();
      await harness.put([elsewhere]);
      const results = await store.claim([
        batchOf(connectorId, [taken], "claim-third"),
        batchOf(other.connectorId, [elsewhere], "claim-fourth"),
      ]);
      expect(results.map(idsOf)).to.deep.equal([[], [elsewhere.id]]);
    });

    it("reads messages that are being sent in order of id, after an id, up to a limit", async () => {
      const { connectorId, make } = atOwnConnector();
      const messages = [1, 2, 3, 4].map(() => make());
      await harness.put(messages);
      const batch = batchOf(connectorId, messages.toReversed(), "claim-many");
      await store.claim([batch]);
      const names = await store.sendingNames(batch.claim.carrierId);
      const found = await store.findSending(names, messages[0]?.id ?? "", 2);
      expect(idsOf(found)).to.deep.equal(idsOf(messages.slice(1, 3)));
      expect(await store.findSending([], "", 10)).to.deep.equal([]);
      expect(await store.sendingNames("nobody")).to.deep.equal([]);
    });

    it("counts waiting messages up to a maximum, those put off included", async () => {
      const { connectorId, make } = atOwnConnector();
      await harness.put([
        make(),
        make({ notBeforeMs: NOW_MS + 60_000 }),
        make({ priority: "bulk" }),
      ]);
      for (const [priority, max, expected] of [
        ["single", 10, 2],
        ["single", 1, 1],
        ["bulk", 10, 1],
      ] as const) {
        expect(await store.countIn(connectorId, priority, max)).to.equal(expected);
      }
      expect(await store.countIn("nowhere", "single", 10)).to.equal(0);
    });

    it("counts a connector's waiting and sending messages, and gives when the oldest began to wait", async () => {
      const { connectorId, make } = atOwnConnector();
      const sending = make();
      await harness.put([
        sending,
        make({ scheduledAtMs: START_MS + 7000 }),
        make({ releasedAtMs: START_MS + 3000, priority: "bulk" }),
      ]);
      await store.claim([batchOf(connectorId, [sending], "claim-figures")]);
      const own = async () =>
        (await store.figures()).find((figures) => figures.connectorId === connectorId);
      const counts = { connectorId, waiting: 2, sending: 1 };
      expect(await own()).to.deep.equal({ ...counts, oldestMs: START_MS + 3000 });
      const oldest = make();
      await harness.put([oldest]);
      expect(await own()).to.deep.equal({ ...counts, waiting: 3, oldestMs: START_MS });
    });

    it("keeps the latest heartbeat of a carrier, and deletes no carrier with a later one", async () => {
      for (const [id, atMs] of [
        ["early", 1000],
        ["late", 2000],
        ["late", 1500],
      ] as const) {
        await store.beat(id, atMs);
      }
      expect(await store.carriersReportedBefore(1000)).to.deep.equal([]);
      expect(await store.carriersReportedBefore(2000)).to.deep.equal(["early"]);
      expect(await store.carriersReportedBefore(Number.MAX_SAFE_INTEGER)).to.have.members([
        "early",
        "late",
      ]);
      await store.forgetCarrier("late", 2000);
      await store.forgetCarrier("early", 1001);
      await store.forgetCarrier("unknown", 5000);
      expect(await store.carriersReportedBefore(5000)).to.deep.equal(["late"]);
    });
  });
}
