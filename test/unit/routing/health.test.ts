import { expect } from "chai";
import { createHealthService } from "../../../services/routing/app/health.ts";
import {
  type BindHealth,
  type ConnectorHealth,
  evaluateConnector,
  initialHealth,
} from "../../../services/routing/domain/health.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createMemoryHealthStore } from "../../support/memory-health-store.ts";

type BindReport = Partial<BindHealth> | undefined;

/** Evaluations have run for long enough that a missing report means a failure. */
const LONG = Number.POSITIVE_INFINITY;

/** Evaluates one bind's reports, one per second; returns the health after each. */
function evaluate(
  reported: readonly BindReport[],
  from: ConnectorHealth = initialHealth("smsc", 0),
): ConnectorHealth[] {
  let health = from;
  return reported.map((now, at) => {
    const nowMs = from.sinceMs + (at + 1) * 1000;
    health = evaluateConnector(health, now === undefined ? [] : [report(now, nowMs)], nowMs, LONG);
    return health;
  });
}

function report(reported: NonNullable<BindReport>, nowMs: number): BindHealth {
  return {
    connectorId: "smsc",
    bind: "c1/0",
    link: "bound",
    windowUsed: 0,
    window: 10,
    submitsPerSecond: 10,
    throttled: 0,
    unknown: 0,
    answerMsP99: 0,
    lastError: "",
    reportedAtMs: nowMs,
    failureShare: 0,
    submitted: 0,
    receipts: 0,
    receiptSecondsP50: 0,
    answers: undefined,
    failures: undefined,
    ...reported,
  };
}

const times = (count: number, reported: BindReport) =>
  Array.from({ length: count }, () => reported);
const states = (history: readonly ConnectorHealth[]) => history.map(({ state }) => state);

describe("the health of a connector", () => {
  it("stays healthy after one bad second and fails after two in a row", () => {
    const bad = { failureShare: 0.6 };
    expect(states(evaluate([bad, {}, bad, {}]))).to.deep.equal(
      times(4, undefined).map(() => "healthy"),
    );
    expect(states(evaluate([bad, bad]))).to.deep.equal(["healthy", "failing"]);
  });

  it("fails when its link is down for longer than 5 s, and is probed when the link is up", () => {
    const down = { link: "down" };
    expect(states(evaluate([...times(5, down), {}])).at(-1)).to.equal("healthy");
    const back = states(evaluate([...times(6, down), {}, ...times(6, {})]));
    expect(back[5]).to.equal("failing");
    expect(back[6]).to.equal("probing");
    expect(back.at(-1)).to.equal("healthy");
  });

  it("fails when no carrier reports", () => {
    expect(states(evaluate(times(8, undefined))).at(-1)).to.equal("failing");
  });

  it("is probed after its wait, and a failed probe doubles the wait", () => {
    const bad = { failureShare: 1 };
    const history = evaluate(times(40, bad));
    const changes = history.filter(({ state }, at) => state !== history[at - 1]?.state);
    expect(states(changes)).to.deep.equal(["healthy", "failing", "probing", "failing", "probing"]);
    expect(changes.map(({ waitMs }) => waitMs)).to.deep.equal([
      10_000, 10_000, 10_000, 20_000, 20_000,
    ]);
  });

  it("is healthy after a good probe", () => {
    const history = evaluate([...times(2, { failureShare: 1 }), ...times(20, {})]);
    expect(history.at(-1)?.state).to.equal("healthy");
  });
});

describe("the evaluation after a pause", () => {
  /** One connector and its carrier, evaluated at the interval. */
  function setUp(intervalMs = 1000) {
    const clock = createManualClock(1_000_000);
    const store = createMemoryHealthStore();
    const open = () =>
      createHealthService({
        ...{
          store,
          clock,
          monotonicClock: clock,
          intervalMs,
          notifier: { notifyChanged: () => undefined },
        },
        listConnectorIds: async () => ["smsc"],
      });
    let service = open();
    return {
      clock,
      restart() {
        service = open();
      },
      async run(times: number, isReporting: boolean, reported: BindReport = {}) {
        const seen: string[] = [];
        for (let time = 0; time < times; time += 1) {
          clock.advance(intervalMs);
          if (isReporting) await service.report([report(reported, 0)]);
          await service.evaluateAll();
          seen.push(...(await store.listHealth()).map(({ state }) => state));
        }
        return new Set(seen);
      },
    };
  }

  for (const [what, isRestarted] of [
    ["of the process", false],
    ["with a restart", true],
  ] as const) {
    it(`${what} waits for the carrier's next report before a link counts as down`, async () => {
      const world = setUp();
      await world.run(30, true);
      world.clock.advance(60_000);
      if (isRestarted) world.restart();
      expect(await world.run(10, false)).to.deep.equal(new Set(["healthy"]));
      expect(await world.run(30, true)).to.deep.equal(new Set(["healthy"]));
    });
  }

  it("sees no pause at a long interval", async () => {
    const world = setUp(10_000);
    await world.run(3, true);
    expect((await world.run(3, true, { link: "down" })).has("failing")).to.equal(true);
  });

  it("accepts a report of a link that is down after the usual 5 s", () => {
    const health = initialHealth("smsc", 0);
    const down = [report({ link: "down" }, 60_000)];
    expect(evaluateConnector(health, down, 60_000, 5000).state).to.equal("healthy");
    expect(evaluateConnector(health, down, 60_000, 5001).state).to.equal("failing");
  });

  it("fails a connector whose carrier stays silent, with and without a pause", async () => {
    const world = setUp();
    await world.run(30, true);
    world.clock.advance(60_000);
    expect((await world.run(20, false)).has("failing")).to.equal(true);
    const other = setUp();
    await other.run(30, true);
    expect((await other.run(17, false)).has("failing")).to.equal(true);
  });
});

/** One report per second, of a bind with these numbers of responses and failures in that second. */
function counting(
  seconds: readonly (readonly [answers: number, failures: number])[],
): BindReport[] {
  const totals = { answers: 1000, failures: 100 };
  return seconds.map(([answers, failures], at) => {
    totals.answers += answers;
    totals.failures += failures;
    const window = seconds.slice(Math.max(0, at - 29), at + 1);
    const answered = window.reduce((sum, [count]) => sum + count, 0);
    const failed = window.reduce((sum, [, count]) => sum + count, 0);
    return { ...totals, failureShare: answered === 0 ? 0 : failed / answered };
  });
}

describe("the health of a connector whose binds report counters", () => {
  const quiet = (count: number) => Array.from({ length: count }, () => [0, 0] as const);
  const all = (count: number, failures: number) =>
    Array.from({ length: count }, () => [10, failures] as const);

  it("stays healthy after one or two failed submits of a quiet connector", () => {
    const once = counting([...quiet(2), [1, 1], ...quiet(40)]);
    expect(new Set(states(evaluate(once)))).to.deep.equal(new Set(["healthy"]));
    const twice = counting([...quiet(2), [1, 1], [1, 1], ...quiet(40)]);
    expect(new Set(states(evaluate(twice)))).to.deep.equal(new Set(["healthy"]));
  });

  it("fails when every submit of a quiet connector fails", () => {
    const each = Array.from({ length: 6 }, () => [...quiet(9), [1, 1] as const]).flat();
    const seen = states(evaluate(counting([...quiet(1), ...each])));
    expect(seen.slice(39, 41)).to.deep.equal(["healthy", "failing"]);
    expect(seen.slice(41), "and passes no probe").not.to.include("healthy");
  });

  it("survives five bad seconds of a busy connector and fails after sixteen", () => {
    const moment = counting([...all(30, 0), ...all(5, 10), ...all(10, 0)]);
    expect(new Set(states(evaluate(moment)))).to.deep.equal(new Set(["healthy"]));
    const half = states(evaluate(counting([...all(30, 0), ...all(16, 10)])));
    expect(half.slice(-2)).to.deep.equal(["healthy", "failing"]);
  });

  it("fails a probe by submits in the probe, not by earlier ones", () => {
    const failing: ConnectorHealth = {
      ...initialHealth("smsc", 0),
      state: "failing",
      cause: "submits",
    };
    const before = counting([[6, 6], ...quiet(9)]);
    const good = counting([[6, 6], ...quiet(9), [1, 0], ...quiet(5)]);
    const bad = counting([[6, 6], ...quiet(10), [1, 1], ...quiet(5)]);
    expect(states(evaluate(before, failing)).at(-1)).to.equal("probing");
    expect(states(evaluate(good, failing)).at(-1)).to.equal("healthy");
    expect(evaluate(bad, failing).at(-1)).to.include({ state: "failing", waitMs: 20_000 });
  });

  it("extends a probe until the first response", () => {
    const failing: ConnectorHealth = {
      ...initialHealth("smsc", 0),
      state: "failing",
      cause: "submits",
    };
    const late = evaluate(counting([[6, 6], ...quiet(25), [1, 1]]), failing);
    expect(new Set(states(late).slice(12, -1))).to.deep.equal(new Set(["probing"]));
    expect(late.at(-1)).to.include({ state: "failing", waitMs: 20_000 });
    const none = states(evaluate(counting([[6, 6], ...quiet(75)]), failing));
    expect([none.at(60), none.at(-1)], "no submits").to.deep.equal(["probing", "healthy"]);
  });

  it("needs fewer failures for the second strike when every submit has failed", () => {
    const slow = counting([[0, 0], [3, 3], ...quiet(9), [1, 1]]);
    expect(states(evaluate(slow)).slice(-2)).to.deep.equal(["healthy", "failing"]);
  });

  it("counts a restarted bind from zero and a new bind from its first report", () => {
    const health = {
      ...initialHealth("smsc", 0),
      counted: [{ bind: "c1/0", answers: 90, failures: 0 }],
    };
    const restarted = { answers: 3, failures: 3, failureShare: 1 };
    expect(evaluate([restarted], health)[0]?.strikes).to.equal(1);
    expect(evaluate([{ ...restarted, bind: "c2/0" }], health)[0]?.strikes).to.equal(0);
  });

  it("decides by the share when one of the binds reports no counters", () => {
    const withCounters = report({ answers: 0, failures: 0, failureShare: 1 }, 1000);
    const withoutCounters = report({ bind: "c2/0", failureShare: 1 }, 1000);
    const health = evaluateConnector(
      initialHealth("smsc", 0),
      [withCounters, withoutCounters],
      1000,
      LONG,
    );
    expect(health.strikes).to.equal(1);
  });
});
