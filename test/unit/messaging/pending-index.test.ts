import { expect } from "chai";
import { readArrivals } from "../../../services/messaging/adapters/queue-notifications-nats.ts";
import { createPendingIndex } from "../../../services/messaging/app/pending-index.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";

const id = (at: number) => `msg_${String(at).padStart(26, "0")}`;

describe("what is known of waiting messages", () => {
  /** An index in which these tenants have something, and a count of the looks at all of it. */
  function open(waiting: string[] = []) {
    const clock = createManualClock(1_000_000);
    const looks = { all: 0 };
    const tenants = createPendingIndex(
      {
        queueNames: async () => (waiting.length === 0 ? [] : ["smsc|1", "smsc|sending|c1"]),
        waitingTenants: async () => {
          looks.all += 1;
          return waiting;
        },
      },
      clock,
    );
    const place = { connectorId: "smsc", priority: "single", tenantId: "ten_a" } as const;
    /** Messages that came in, by name. */
    const note = (ats: number | number[], dueAtMs = clock.now()) => {
      const named = [ats].flat().map((at) => ({ messageId: id(at), dueAtMs }));
      const messageId = named[0]?.messageId ?? "";
      tenants.note("smsc", { priority: "single", tenantId: "ten_a", messageId, dueAtMs, named });
    };
    /** A crowd that came in, of which only the first has a name. */
    const noteCrowd = (first: number, dueAtMs = clock.now()) =>
      tenants.note("smsc", {
        ...{ priority: "single", tenantId: "ten_a", messageId: id(first), dueAtMs },
        named: undefined,
      });
    const named = (max = 100) =>
      tenants.named(place, clock.now(), max).map(({ messageId }) => Number(messageId.slice(4)));
    const forget = (...ats: number[]) => {
      const all = tenants.named(place, clock.now(), 1000);
      tenants.forget(
        place,
        all.filter(({ messageId }) => ats.includes(Number(messageId.slice(4)))),
      );
    };
    /** A look that finds these; what it began at. */
    const look = (found: number[], isAll = true, meanwhile = () => {}) => {
      const from = tenants.startScan([place], clock.now());
      meanwhile();
      tenants.endScan(place, found.map(id), isAll);
      return from;
    };
    const needsScan = (wanted = 10) => tenants.needsScan(place, clock.now(), wanted);
    const list = () => tenants.list("smsc", "single");
    return { clock, tenants, place, looks, note, noteCrowd, named, forget, look, needsScan, list };
  }

  it("forgets tenants that have nothing in a queue, but not one for whom something came in meanwhile", async () => {
    const { tenants, note, named } = open();
    note(1);
    const mark = tenants.mark();
    note(2);
    tenants.retain("smsc", "single", [], mark);
    expect(named()).to.deep.equal([1, 2]);
    tenants.retain("smsc", "single", ["ten_a"], tenants.mark());
    expect(named()).to.deep.equal([1, 2]);
    tenants.retain("smsc", "single", [], tenants.mark());
    expect(named()).to.deep.equal([]);
  });

  it("names what came in, oldest first, until it is claimed", async () => {
    const { note, named, forget, needsScan, list } = open();
    for (const at of [5, 3, 9]) note(at);
    expect(await list()).to.deep.equal(["ten_a"]);
    expect(named()).to.deep.equal([3, 5, 9]);
    expect(named(2)).to.deep.equal([3, 5]);
    expect(needsScan(), "everything has a name").to.equal(false);
    forget(3, 5);
    note(4);
    expect(named()).to.deep.equal([4, 9]);
    forget(4, 9);
    expect(await list()).to.deep.equal([]);
  });

  it("keeps a name that came in again while it was read", () => {
    const { tenants, place, clock, note, named } = open();
    note(5);
    const asked = tenants.named(place, clock.now(), 10);
    note(5);
    tenants.forget(place, asked);
    expect(named()).to.deep.equal([5]);
  });

  it("gives no message before it may be claimed", async () => {
    const { clock, note, named, list } = open();
    note(5, clock.now() + 3000);
    note(7);
    expect(named()).to.deep.equal([7]);
    clock.advance(3000);
    expect(named()).to.deep.equal([5, 7]);
    expect(await list()).to.deep.equal(["ten_a"]);
  });

  it("leaves what may be claimed only much later to a look at the whole index", async () => {
    const { clock, note, list } = open();
    note(5, clock.now() + 86_400_000);
    expect(await list()).to.deep.equal([]);
  });

  it("looks for a crowd without names, a part at a time, and once all are named no more", async () => {
    const { noteCrowd, note, look, named, forget, needsScan, list } = open();
    noteCrowd(3);
    expect(needsScan()).to.equal(true);
    expect(look([3, 4, 5], false)).to.equal(id(3));
    expect(named()).to.deep.equal([3, 4, 5]);
    expect(needsScan(3), "enough are named").to.equal(false);
    forget(3, 4);
    note(9);
    expect(needsScan(3)).to.equal(true);
    expect(look([5, 6, 9])).to.equal(id(5));
    expect(named()).to.deep.equal([5, 6, 9]);
    expect(needsScan()).to.equal(false);
    forget(5, 6, 9);
    expect(await list()).to.deep.equal([]);
  });

  it("does not pass by a crowd that comes in while it looks, or comes back with older ids", () => {
    const { noteCrowd, look, needsScan } = open();
    noteCrowd(5);
    look([5], true, () => noteCrowd(6));
    expect(needsScan()).to.equal(true);
    expect(look([6, 7], false, () => noteCrowd(2))).to.equal(id(6));
    expect(look([2])).to.equal(id(2));
    expect(needsScan()).to.equal(false);
  });

  it("stays before a crowd that may be claimed only later", () => {
    const { clock, noteCrowd, look, needsScan } = open();
    noteCrowd(5, clock.now() + 3000);
    look([]);
    expect(needsScan()).to.equal(true);
    clock.advance(3000);
    expect(look([5])).to.equal(id(5));
    expect(needsScan()).to.equal(false);
  });

  it("names no more than a thousand of a tenant; the others are looked for", () => {
    const { note, named, forget, look, needsScan } = open();
    const all = Array.from({ length: 1003 }, (_, at) => at);
    note(all);
    expect(named(2000)).to.have.length(1000);
    expect(needsScan(1000), "enough are named").to.equal(false);
    forget(...all);
    expect(needsScan()).to.equal(true);
    expect(look([1000, 1001, 1002])).to.equal(id(1000));
    expect(named()).to.deep.equal([1000, 1001, 1002]);
  });

  it("looks at the whole index at first, and every five seconds, for what no bell rang for", async () => {
    const { clock, note, look, looks, list, tenants, named, needsScan } = open(["ten_a"]);
    note(8);
    await list();
    expect(needsScan(0), "whatever is named").to.equal(true);
    expect(look([2, 8])).to.equal("");
    expect(named()).to.deep.equal([2, 8]);
    await list();
    expect(needsScan()).to.equal(false);
    expect(looks.all).to.equal(1);
    clock.advance(5000);
    await list();
    expect(named(), "another replica may have claimed them").to.deep.equal([]);
    expect(look([8])).to.equal("");
    expect(named()).to.deep.equal([8]);
    expect(looks.all).to.equal(2);
    expect(await tenants.connectors()).to.deep.equal(["smsc"]);
  });

  it("asks the whole index of no queue that holds nothing", async () => {
    const { looks, list, tenants, note } = open();
    await list();
    expect(looks.all).to.equal(0);
    expect(await tenants.connectors()).to.deep.equal([]);
    note(1);
    expect(await tenants.connectors()).to.deep.equal(["smsc"]);
  });

  it("asks again when the clock was set back", async () => {
    const { clock, looks, list } = open(["ten_a"]);
    await list();
    clock.advance(-3_600_000);
    await list();
    expect(looks.all).to.equal(2);
  });
});

describe("what a doorbell says", () => {
  const good = ["single", "ten_a", id(1), 5];
  it("is read", () => {
    const first = { priority: "single", tenantId: "ten_a", messageId: id(1), dueAtMs: 5 };
    expect(readArrivals(JSON.stringify([good]))).to.deep.equal([{ ...first, named: undefined }]);
    expect(readArrivals(JSON.stringify([[...good, [[id(1), 5]]]]))).to.deep.equal([
      { ...first, named: [{ messageId: id(1), dueAtMs: 5 }] },
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
