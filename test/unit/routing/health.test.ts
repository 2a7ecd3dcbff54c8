import { expect } from "chai";
import { createHealthService, type HealthStore } from "../../../services/routing/app/health.ts";
import {
  type BindHealth,
  firstVerdict,
  judgeConnector,
  type Verdict,
} from "../../../services/routing/domain/health.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";

type Said = Partial<BindHealth> | undefined;

/** Judging has gone on for long enough that silence means something. */
const LONG = Number.POSITIVE_INFINITY;

/** Judges once a second what the one bind says at each; answers the states. */
function judge(said: readonly Said[], from: Verdict = firstVerdict("smsc", 0)): Verdict[] {
  let verdict = from;
  return said.map((now, at) => {
    const nowMs = from.sinceMs + (at + 1) * 1000;
    verdict = judgeConnector(verdict, now === undefined ? [] : [report(now, nowMs)], nowMs, LONG);
    return verdict;
  });
}

function report(said: NonNullable<Said>, nowMs: number): BindHealth {
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
    ...said,
  };
}

const times = (count: number, said: Said) => Array.from({ length: count }, () => said);
const states = (verdicts: readonly Verdict[]) => verdicts.map(({ state }) => state);

describe("the health of a connector", () => {
  it("one bad second is nothing; two in a row make it step aside", () => {
    const bad = { failureShare: 0.6 };
    expect(states(judge([bad, {}, bad, {}]))).to.deep.equal(
      times(4, undefined).map(() => "healthy"),
    );
    expect(states(judge([bad, bad]))).to.deep.equal(["healthy", "failing"]);
  });

  it("a link that is down for a moment is nothing; for longer it steps aside, and returns with the link", () => {
    const down = { link: "down" };
    expect(states(judge([...times(5, down), {}])).at(-1)).to.equal("healthy");
    const back = states(judge([...times(6, down), {}, ...times(6, {})]));
    expect(back[5]).to.equal("failing");
    expect(back[6]).to.equal("probing");
    expect(back.at(-1)).to.equal("healthy");
  });

  it("nobody reporting counts as down", () => {
    expect(states(judge(times(8, undefined))).at(-1)).to.equal("failing");
  });

  it("after its wait it is probed, and a failed probe doubles the wait", () => {
    const bad = { failureShare: 1 };
    const verdicts = judge(times(40, bad));
    const changes = verdicts.filter(({ state }, at) => state !== verdicts[at - 1]?.state);
    expect(states(changes)).to.deep.equal(["healthy", "failing", "probing", "failing", "probing"]);
    expect(changes.map(({ waitMs }) => waitMs)).to.deep.equal([
      10_000, 10_000, 10_000, 20_000, 20_000,
    ]);
  });

  it("a good probe ends it", () => {
    const verdicts = judge([...times(2, { failureShare: 1 }), ...times(20, {})]);
    expect(verdicts.at(-1)?.state).to.equal("healthy");
  });
});

describe("the judge after a gap", () => {
  /** One connector whose carrier reports while it can, judged once a second or so. */
  function setUp(everyMs = 1000) {
    const clock = createManualClock(1_000_000);
    let verdicts: Verdict[] = [];
    let reports: BindHealth[] = [];
    const store: HealthStore = {
      saveReports: async (newest) => {
        reports = [...newest];
      },
      listReports: async () => reports,
      listVerdicts: async () => verdicts,
      saveVerdicts: async (judged) => {
        verdicts = judged.map(({ after }) => after);
      },
      removeVerdicts: async () => undefined,
    };
    const open = () =>
      createHealthService({
        ...{ store, clock, steady: clock, everyMs, announce: () => undefined },
        listConnectorIds: async () => ["smsc"],
      });
    let health = open();
    return {
      clock,
      restart() {
        health = open();
      },
      async run(times: number, isReporting: boolean, said: Said = {}) {
        const seen: string[] = [];
        for (let time = 0; time < times; time += 1) {
          clock.advance(everyMs);
          if (isReporting) await health.report([report(said, 0)]);
          await health.judgeAll();
          seen.push(...verdicts.map(({ state }) => state));
        }
        return new Set(seen);
      },
    };
  }

  for (const [what, isRestarted] of [
    ["stood still", false],
    ["was away", true],
  ] as const) {
    it(`that ${what} takes no link to be down before its carrier could report again`, async () => {
      const world = setUp();
      await world.run(30, true);
      world.clock.advance(60_000);
      if (isRestarted) world.restart();
      expect(await world.run(10, false)).to.deep.equal(new Set(["healthy"]));
      expect(await world.run(30, true)).to.deep.equal(new Set(["healthy"]));
    });
  }

  it("is none when judging is seldom", async () => {
    const world = setUp(10_000);
    await world.run(3, true);
    expect((await world.run(3, true, { link: "down" })).has("failing")).to.equal(true);
  });

  it("takes a link that is told to be down at its word, after the usual patience", () => {
    const verdict = firstVerdict("smsc", 0);
    const down = [report({ link: "down" }, 60_000)];
    expect(judgeConnector(verdict, down, 60_000, 5000).state).to.equal("healthy");
    expect(judgeConnector(verdict, down, 60_000, 5001).state).to.equal("failing");
  });

  it("still takes a carrier that stays silent to be down, and without a gap as soon as ever", async () => {
    const world = setUp();
    await world.run(30, true);
    world.clock.advance(60_000);
    expect((await world.run(20, false)).has("failing")).to.equal(true);
    const other = setUp();
    await other.run(30, true);
    expect((await other.run(17, false)).has("failing")).to.equal(true);
  });
});

/** What a bind tells each second of which this many submits had an outcome, and so many of them failed. */
function counting(seconds: readonly (readonly [answers: number, failures: number])[]): Said[] {
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

describe("the health of a connector whose binds tell what they have counted", () => {
  const quiet = (count: number) => Array.from({ length: count }, () => [0, 0] as const);
  const all = (count: number, failures: number) =>
    Array.from({ length: count }, () => [10, failures] as const);

  it("one failed submit on a quiet connector is nothing, nor are two", () => {
    const once = counting([...quiet(2), [1, 1], ...quiet(40)]);
    expect(new Set(states(judge(once)))).to.deep.equal(new Set(["healthy"]));
    const twice = counting([...quiet(2), [1, 1], [1, 1], ...quiet(40)]);
    expect(new Set(states(judge(twice)))).to.deep.equal(new Set(["healthy"]));
  });

  it("a quiet connector steps aside when one submit after the other fails", () => {
    const each = Array.from({ length: 6 }, () => [...quiet(9), [1, 1] as const]).flat();
    const seen = states(judge(counting([...quiet(1), ...each])));
    expect(seen.slice(39, 41)).to.deep.equal(["healthy", "failing"]);
    expect(seen.slice(41), "and passes no probe").not.to.include("healthy");
  });

  it("a bad moment of a busy one is nothing, a bad half of its half minute makes it step aside", () => {
    const moment = counting([...all(30, 0), ...all(5, 10), ...all(10, 0)]);
    expect(new Set(states(judge(moment)))).to.deep.equal(new Set(["healthy"]));
    const half = states(judge(counting([...all(30, 0), ...all(16, 10)])));
    expect(half.slice(-2)).to.deep.equal(["healthy", "failing"]);
  });

  it("what failed before the probe does not fail the probe; what fails in it does", () => {
    const failing: Verdict = { ...firstVerdict("smsc", 0), state: "failing", cause: "submits" };
    const before = counting([[6, 6], ...quiet(9)]);
    const good = counting([[6, 6], ...quiet(9), [1, 0], ...quiet(5)]);
    const bad = counting([[6, 6], ...quiet(10), [1, 1], ...quiet(5)]);
    expect(states(judge(before, failing)).at(-1)).to.equal("probing");
    expect(states(judge(good, failing)).at(-1)).to.equal("healthy");
    expect(judge(bad, failing).at(-1)).to.include({ state: "failing", waitMs: 20_000 });
  });

  it("a carrier that answers nothing passes no probe: what was submitted in it is waited for", () => {
    const failing: Verdict = { ...firstVerdict("smsc", 0), state: "failing", cause: "submits" };
    const late = judge(counting([[6, 6], ...quiet(25), [1, 1]]), failing);
    expect(new Set(states(late).slice(12, -1))).to.deep.equal(new Set(["probing"]));
    expect(late.at(-1)).to.include({ state: "failing", waitMs: 20_000 });
    const none = states(judge(counting([[6, 6], ...quiet(75)]), failing));
    expect([none.at(60), none.at(-1)], "nothing was asked of it").to.deep.equal([
      "probing",
      "healthy",
    ]);
  });

  it("one that has failed all it was given needs fewer failures the second time", () => {
    const slow = counting([[0, 0], [3, 3], ...quiet(9), [1, 1]]);
    expect(states(judge(slow)).slice(-2)).to.deep.equal(["healthy", "failing"]);
  });

  it("a carrier that began anew counts from zero, one that nobody knew from what it tells first", () => {
    const verdict = {
      ...firstVerdict("smsc", 0),
      counted: [{ bind: "c1/0", answers: 90, failures: 0 }],
    };
    const restarted = { answers: 3, failures: 3, failureShare: 1 };
    expect(judge([restarted], verdict)[0]?.strikes).to.equal(1);
    expect(judge([{ ...restarted, bind: "c2/0" }], verdict)[0]?.strikes).to.equal(0);
  });

  it("beside a carrier that tells only its share, the share decides as ever", () => {
    const told = report({ answers: 0, failures: 0, failureShare: 1 }, 1000);
    const untold = report({ bind: "c2/0", failureShare: 1 }, 1000);
    const verdict = judgeConnector(firstVerdict("smsc", 0), [told, untold], 1000, LONG);
    expect(verdict.strikes).to.equal(1);
  });
});
