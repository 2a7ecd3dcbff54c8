import { expect } from "chai";
import { createPace } from "../../../services/shared/flow/min-interval.ts";

describe("the pace of work that nobody waits for", () => {
  for (const { what, everyMs, beatMs, nowMs, leftMs } of [
    { what: "the first turn", everyMs: 20, beatMs: undefined, nowMs: 5, leftMs: 0 },
    { what: "right after a turn", everyMs: 20, beatMs: 100, nowMs: 100, leftMs: 20 },
    { what: "halfway", everyMs: 20, beatMs: 100, nowMs: 109.5, leftMs: 11 },
    { what: "a whole beat later", everyMs: 20, beatMs: 100, nowMs: 120, leftMs: 0 },
    { what: "long after", everyMs: 20, beatMs: 100, nowMs: 5000, leftMs: 0 },
    { what: "no pace at all", everyMs: 0, beatMs: 100, nowMs: 100, leftMs: 0 },
  ]) {
    it(`${what}: ${leftMs} ms`, () => {
      let atMs = beatMs ?? 0;
      const pace = createPace(everyMs, everyMs, () => atMs);
      if (beatMs !== undefined) pace.beat();
      atMs = nowMs;
      expect(pace.leftMs()).to.equal(leftMs);
    });
  }

  for (const { what, tookMs, leftMs } of [
    { what: "a short turn", tookMs: 3, leftMs: 20 },
    { what: "half of the time for others", tookMs: 25, leftMs: 50 },
    { what: "a turn that met an outage", tookMs: 9000, leftMs: 60 },
  ]) {
    it(`grows with what turns take: after ${what} ${leftMs} ms`, () => {
      const pace = createPace(20, 60, () => 100);
      pace.beat();
      pace.took(tookMs);
      expect(pace.leftMs()).to.equal(leftMs);
    });
  }

  it("is short again after a short turn", () => {
    const pace = createPace(20, 60, () => 100);
    pace.beat();
    pace.took(30);
    pace.took(1);
    expect(pace.leftMs()).to.equal(20);
  });
});
