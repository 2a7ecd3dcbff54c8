import { expect } from "chai";
import {
  type BindHealth,
  firstVerdict,
  judgeConnector,
  type Verdict,
} from "../../services/routing/domain/health.ts";

type Said = { readonly link?: string; readonly failureShare?: number } | undefined;

/** Judges once a second what the one bind says at each; answers the states. */
function judge(said: readonly Said[], from: Verdict = firstVerdict("smsc", 0)): Verdict[] {
  let verdict = from;
  return said.map((now, at) => {
    const nowMs = from.sinceMs + (at + 1) * 1000;
    verdict = judgeConnector(verdict, now === undefined ? [] : [report(now, nowMs)], nowMs);
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
