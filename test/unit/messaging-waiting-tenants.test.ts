import { expect } from "chai";
import { readArrivals } from "../../services/messaging/doorbell-notes.ts";
import {
  type Arrival,
  createWaitingTenants,
} from "../../services/messaging/service/waiting-tenants.ts";
import { createManualClock } from "../../services/shared/core/clock.ts";

const id = (at: number) => `msg_${String(at).padStart(26, "0")}`;

describe("what is known of waiting messages", () => {
  /** An index in which these tenants have something, and a count of the looks at all of it. */
  function open(waiting: string[] = []) {
    const clock = createManualClock(1_000_000);
    const looks = { all: 0 };
    const tenants = createWaitingTenants(
      {
        queueNames: async () => (waiting.length === 0 ? [] : ["smsc|1", "smsc|sending|c1"]),
        waitingTenants: async () => {
          looks.all += 1;
          return waiting;
        },
      },
      clock,
    );
    const note = (at: number, more: Partial<Arrival> = {}) =>
      tenants.note("smsc", {
        lane: "single",
        tenantId: "ten_a",
        messageId: id(at),
        dueAtMs: clock.now(),
        ...more,
      });
    /** A look that finds this first. */
    const look = (found: number | undefined, meanwhile = () => {}) => {
      const from = tenants.lookFrom("smsc", "single", ["ten_a"], clock.now());
      meanwhile();
      tenants.seen("smsc", "single", "ten_a", found === undefined ? undefined : id(found));
      return from;
    };
    const list = () => tenants.list("smsc", "single");
    return { clock, tenants, looks, note, look, list };
  }

  it("begins each look where the one before found the first message", async () => {
    const { note, look, list } = open();
    for (const at of [5, 3, 9]) note(at);
    expect(await list()).to.deep.equal(["ten_a"]);
    expect(look(3)).to.equal(id(3));
    expect(look(9)).to.equal(id(3));
    expect(look(undefined)).to.equal(id(9));
    expect(await list()).to.deep.equal([]);
  });

  it("does not pass by what comes in while it looks, or comes back with an older id", async () => {
    const { note, look, list } = open();
    note(5);
    look(undefined, () => note(6));
    expect(await list()).to.deep.equal(["ten_a"]);
    expect(look(6, () => note(2))).to.equal(id(6));
    expect(look(2)).to.equal(id(2));
  });

  it("stays before a message that may be claimed only later", () => {
    const { clock, note, look } = open();
    note(5, { dueAtMs: clock.now() + 3000 });
    note(7);
    look(7);
    look(undefined);
    expect(look(undefined)).to.equal(id(5));
    clock.advance(3000);
    expect(look(5)).to.equal(id(5));
    look(undefined);
    expect(look(undefined)).to.equal("");
  });

  it("is not moved by a look that began before the message could be claimed", () => {
    const { clock, note, look } = open();
    note(5, { dueAtMs: clock.now() + 10 });
    look(undefined, () => clock.advance(10));
    expect(look(5)).to.equal(id(5));
  });

  it("forgets a message that may be claimed only much later, which the whole index still shows", async () => {
    const { clock, note, look, list } = open();
    note(5, { dueAtMs: clock.now() + 86_400_000 });
    clock.advance(600_000);
    look(undefined);
    expect(await list()).to.deep.equal([]);
  });

  it("looks at the whole index at first, and every five seconds, for what no bell rang for", async () => {
    const { clock, note, look, looks, list, tenants } = open(["ten_a"]);
    note(8);
    await list();
    expect(look(8)).to.equal("");
    await list();
    expect(look(8)).to.equal(id(8));
    expect(looks.all).to.equal(1);
    clock.advance(5000);
    await list();
    expect(look(8)).to.equal("");
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
    expect(readArrivals(JSON.stringify([good]))).to.deep.equal([
      { lane: "single", tenantId: "ten_a", messageId: id(1), dueAtMs: 5 },
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
  ]) {
    it(`is nothing for ${text || "no text"}`, () => {
      expect(readArrivals(text)).to.equal(undefined);
    });
  }
});
