import { expect } from "chai";
import type { Fault, FaultKind } from "../../chaos/plan.ts";
import type { Done } from "../../chaos/storm.ts";
import { backlogOf, outagesOf } from "../../chaos/webhook-backlog.ts";

function done(kind: FaultKind, target: string, change: Partial<Fault & Done> = {}): Done {
  const { amountMs = 0, fromMs = 1000, toMs = 3000, struck = true } = change;
  const fault = { kind, target, amountMs, atMs: 0, forMs: toMs - fromMs };
  return { fault, fromMs, toMs, struck };
}

describe("a fault that prevents webhook retries", () => {
  for (const [what, fault, outages] of [
    ["a paused process and its recovery", done("pause", "webhook"), [[1000, 8000]]],
    ["a database that is away", done("disk_full", "mongod"), [[1000, 8000]]],
    ["a slow way to it", done("slow", "webhook>mongod", { amountMs: 800 }), [[1000, 8000]]],
    ["a clock that is behind", done("clock", "webhook", { amountMs: -30_000 }), [[1000, 3000]]],
    ["a clock that was ahead", done("clock", "webhook", { amountMs: 9000 }), [[3000, 12_000]]],
    ["no fault that missed", done("kill", "webhook", { struck: false }), []],
    ["no stream: events wait, retries do not", done("kill", "nats-server"), []],
    ["no neighbour", done("clock", "messaging", { amountMs: 9000 }), []],
  ] as const) {
    it(`is ${what}`, () => {
      const found = outagesOf([fault], []).map(({ fromMs, toMs }) => [fromMs, toMs]);
      expect(found).to.deep.equal(outages);
    });
  }

  it("is a process that ended by itself, in the order of all beginnings", () => {
    const crashes = [
      { name: "webhook", atMs: 500 },
      { name: "wallet", atMs: 700 },
    ];
    expect(outagesOf([done("kill", "mongod")], crashes)).to.deep.equal([
      { fromMs: 500, toMs: 5500 },
      { fromMs: 1000, toMs: 8000 },
    ]);
  });
});

describe("a webhook process that starts while the stream is away", () => {
  const stream = done("pause", "nats-server", { fromMs: 2000, toMs: 20_000 });
  const link = done("black_hole", "webhook>nats-server", { fromMs: 22_000, toMs: 30_000 });

  it("makes no retries until that is back", () => {
    const untils = outagesOf([done("kill", "webhook"), link, stream], []).map(({ toMs }) => toMs);
    expect(Math.max(...untils)).to.equal(35_000);
  });

  it("differs from a fault that only suspends a process", () => {
    const untils = outagesOf([done("pause", "webhook"), stream], []).map(({ toMs }) => toMs);
    expect(untils).to.deep.equal([8000]);
  });
});

describe("the backlog of outages", () => {
  const outages = [
    { fromMs: 10_000, toMs: 20_000 },
    { fromMs: 15_000, toMs: 18_000 },
    { fromMs: 19_000, toMs: 30_000 },
    { fromMs: 50_000, toMs: 60_000 },
  ];
  for (const [what, from, to, most] of [
    ["nothing before them", 0, 9000, 0],
    ["a second for each second of one", 0, 14_000, 4000],
    ["counted once where they overlap", 0, 30_000, 20_000],
    ["the most there was in between", 0, 49_000, 20_000],
    ["half a second less for each second of work", 40_000, 45_000, 15_000],
    ["added to what is left of those before", 50_000, 60_000, 20_000],
    ["nothing when all is made good", 100_001, 200_000, 0],
  ] as const) {
    it(`is ${what}`, () => {
      expect(backlogOf(outages)(from, to)).to.equal(most);
    });
  }

  it("is nothing without outages", () => {
    expect(backlogOf([])(0, 1e9)).to.equal(0);
  });
});
