import { expect } from "chai";
import { readArrivals } from "../../../services/messaging/adapters/queue-notifications-nats.ts";
import { createPendingIndex } from "../../../services/messaging/app/pending-index.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";

const id = (at: number) => `msg_${String(at).padStart(26, "0")}`;

describe("the pending index", () => {
  /** An index in which these tenants have something, and a count of the scans at all of it. */
  function open(waiting: string[] = []) {
    const clock = createManualClock(1_000_000);
    const scans = { all: 0 };
    const index = createPendingIndex(
      {
        queueNames: async () => (waiting.length === 0 ? [] : ["smsc|1", "smsc|sending|c1"]),
        waitingTenants: async () => {
          scans.all += 1;
          return waiting;
        },
      },
      clock,
    );
    const place = { connectorId: "smsc", priority: "single", tenantId: "ten_a" } as const;
    /** Adds messages with known ids. */
    const add = (ats: number | number[], dueAtMs = 0) => {
      const messages = [ats].flat().map((at) => ({ messageId: id(at), dueAtMs }));
      const messageId = messages[0]?.messageId ?? "";
      index.add("smsc", { priority: "single", tenantId: "ten_a", messageId, dueAtMs, messages });
    };
    /** Adds messages of which only the first id is known. */
    const addMany = (first: number, dueAtMs = 0) =>
      index.add("smsc", {
        ...{ priority: "single", tenantId: "ten_a", messageId: id(first), dueAtMs },
        messages: undefined,
      });
    const dueOf = (kind: "fresh" | "putOff", max = 100) =>
      index.due(place, kind, clock.now(), max).map(({ messageId }) => Number(messageId.slice(4)));
    const due = (max = 100) => dueOf("fresh", max);
    const remove = (...ats: number[]) => {
      const all = index.due(place, "fresh", clock.now(), 1000);
      index.remove(
        place,
        all.filter(({ messageId }) => ats.includes(Number(messageId.slice(4)))),
      );
    };
    /** Scans and finds these; returns the id at which the scan began. */
    const scan = (found: number[], isAll = true, meanwhile = () => {}) => {
      const from = index.startScan([place], clock.now());
      meanwhile();
      const messages = found.map((at) => ({ messageId: id(at), dueAtMs: 0 }));
      index.endScan(place, messages, isAll);
      return from;
    };
    const needsScan = (wanted = 10) => index.needsScan(place, clock.now(), wanted);
    const list = () => index.list("smsc", "single");
    return { clock, index, place, scans, add, addMany, due, dueOf, remove, scan, needsScan, list };
  }

  it("removes tenants without messages in a queue, unless a message of theirs arrived during the removal", async () => {
    const { index, add, due } = open();
    add(1);
    const mark = index.mark();
    add(2);
    index.retain("smsc", "single", [], mark);
    expect(due()).to.deep.equal([1, 2]);
    index.retain("smsc", "single", ["ten_a"], index.mark());
    expect(due()).to.deep.equal([1, 2]);
    index.retain("smsc", "single", [], index.mark());
    expect(due()).to.deep.equal([]);
  });

  it("returns arrived messages, oldest first, until they are claimed", async () => {
    const { add, due, remove, needsScan, list } = open();
    for (const at of [5, 3, 9]) add(at);
    expect(await list()).to.deep.equal(["ten_a"]);
    expect(due()).to.deep.equal([3, 5, 9]);
    expect(due(2)).to.deep.equal([3, 5]);
    expect(needsScan(), "everything has a name").to.equal(false);
    remove(3, 5);
    add(4);
    expect(due()).to.deep.equal([4, 9]);
    remove(4, 9);
    expect(await list()).to.deep.equal([]);
  });

  it("keeps a message that arrived again while it was read", () => {
    const { index, place, clock, add, due } = open();
    add(5);
    const asked = index.due(place, "fresh", clock.now(), 10);
    add(5);
    index.remove(place, asked);
    expect(due()).to.deep.equal([5]);
  });

  it("returns no message before it may be claimed", async () => {
    const { clock, add, due, dueOf, list } = open();
    add(5, clock.now() + 3000);
    add(7);
    expect(due()).to.deep.equal([7]);
    expect(dueOf("putOff")).to.deep.equal([]);
    clock.advance(3000);
    expect(due()).to.deep.equal([7]);
    expect(dueOf("putOff")).to.deep.equal([5]);
    expect(await list()).to.deep.equal(["ten_a"]);
  });

  it("moves a message that a carrier put off, and back when it is to be tried again", () => {
    const { clock, add, due, dueOf } = open();
    add(5);
    add(5, clock.now());
    expect([due(), dueOf("putOff")]).to.deep.equal([[], [5]]);
    add(5);
    expect([due(), dueOf("putOff")]).to.deep.equal([[5], []]);
  });

  it("keeps room for fresh messages, however many were put off", () => {
    const { clock, add, due, dueOf } = open();
    add(
      Array.from({ length: 2000 }, (_, at) => at),
      clock.now(),
    );
    add(5000);
    expect(due()).to.deep.equal([5000]);
    expect(dueOf("putOff", 2000)).to.have.length(500);
  });

  it("leaves messages that become due much later to a full rescan", async () => {
    const { clock, add, list } = open();
    add(5, clock.now() + 86_400_000);
    expect(await list()).to.deep.equal([]);
  });

  it("scans for unknown messages in parts, until all are known", async () => {
    const { addMany, add, scan, due, remove, needsScan, list } = open();
    addMany(3);
    expect(needsScan()).to.equal(true);
    expect(scan([3, 4, 5], false)).to.equal(id(3));
    expect(due()).to.deep.equal([3, 4, 5]);
    expect(needsScan(3), "enough are named").to.equal(false);
    remove(3, 4);
    add(9);
    expect(needsScan(3)).to.equal(true);
    expect(scan([5, 6, 9])).to.equal(id(5));
    expect(due()).to.deep.equal([5, 6, 9]);
    expect(needsScan()).to.equal(false);
    remove(5, 6, 9);
    expect(await list()).to.deep.equal([]);
  });

  it("does not skip unknown messages that arrive during a scan, or return with older ids", () => {
    const { addMany, scan, needsScan } = open();
    addMany(5);
    scan([5], true, () => addMany(6));
    expect(needsScan()).to.equal(true);
    expect(scan([6, 7], false, () => addMany(2))).to.equal(id(6));
    expect(scan([2])).to.equal(id(2));
    expect(needsScan()).to.equal(false);
  });

  it("scans again for unknown messages that become due only later", () => {
    const { clock, addMany, scan, needsScan } = open();
    addMany(5, clock.now() + 3000);
    scan([]);
    expect(needsScan()).to.equal(true);
    clock.advance(3000);
    expect(scan([5])).to.equal(id(5));
    expect(needsScan()).to.equal(false);
  });

  it("keeps at most a thousand ids of a tenant and scans for the others", () => {
    const { add, due, remove, scan, needsScan } = open();
    const all = Array.from({ length: 1003 }, (_, at) => at);
    add(all);
    expect(due(2000)).to.have.length(1000);
    expect(needsScan(1000), "enough are named").to.equal(false);
    remove(...all);
    expect(needsScan()).to.equal(true);
    expect(scan([1000, 1001, 1002])).to.equal(id(1000));
    expect(due()).to.deep.equal([1000, 1001, 1002]);
  });

  it("rescans everything at first, and every five seconds, in case a notification was lost", async () => {
    const { clock, add, scan, scans, list, index, due, needsScan } = open(["ten_a"]);
    add(8);
    await list();
    expect(needsScan(0), "whatever is named").to.equal(true);
    expect(scan([2, 8])).to.equal("");
    expect(due()).to.deep.equal([2, 8]);
    await list();
    expect(needsScan()).to.equal(false);
    expect(scans.all).to.equal(1);
    clock.advance(5000);
    await list();
    expect(due(), "another replica may have claimed them").to.deep.equal([]);
    expect(scan([8])).to.equal("");
    expect(due()).to.deep.equal([8]);
    expect(scans.all).to.equal(2);
    expect(await index.connectors()).to.deep.equal(["smsc"]);
  });

  it("rescans no empty queue", async () => {
    const { scans, list, index, add } = open();
    await list();
    expect(scans.all).to.equal(0);
    expect(await index.connectors()).to.deep.equal([]);
    add(1);
    expect(await index.connectors()).to.deep.equal(["smsc"]);
  });

  it("rescans when the clock was set back", async () => {
    const { clock, scans, list } = open(["ten_a"]);
    await list();
    clock.advance(-3_600_000);
    await list();
    expect(scans.all).to.equal(2);
  });
});

describe("a queue notification", () => {
  const good = ["single", "ten_a", id(1), 5];
  it("is parsed into its arrivals", () => {
    const first = { priority: "single", tenantId: "ten_a", messageId: id(1), dueAtMs: 5 };
    expect(readArrivals(JSON.stringify([good]))).to.deep.equal([{ ...first, messages: undefined }]);
    expect(readArrivals(JSON.stringify([[...good, [[id(1), 5]]]]))).to.deep.equal([
      { ...first, messages: [{ messageId: id(1), dueAtMs: 5 }] },
    ]);
  });
  for (const text of [
    "",
    "{}",
    "[1]",
    JSON.stringify([["both", "ten_a", id(1), 5]]),
    JSON.stringify([["bulk", "ten_a", "msg_", 5]]),
    JSON.stringify([["bulk", 7, id(1), 5]]),
    JSON.stringify([["bulk", "ten_a", id(1), "5"]]),
    JSON.stringify([["bulk", "ten_a", id(1), 5, 7]]),
    JSON.stringify([["bulk", "ten_a", id(1), 5, [id(1)]]]),
    JSON.stringify([["bulk", "ten_a", id(1), 5, [["msg_", 5]]]]),
  ]) {
    it(`is nothing for ${text || "no text"}`, () => {
      expect(readArrivals(text)).to.equal(undefined);
    });
  }
});
