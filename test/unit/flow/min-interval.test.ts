import { expect } from "chai";
import { createMinInterval } from "../../../services/shared/flow/min-interval.ts";

describe("a minimum interval", () => {
  for (const { name, minMs, startMs, nowMs, waitMs } of [
    { name: "before the first start", minMs: 20, startMs: undefined, nowMs: 5, waitMs: 0 },
    { name: "right after a start", minMs: 20, startMs: 100, nowMs: 100, waitMs: 20 },
    { name: "half of the interval later", minMs: 20, startMs: 100, nowMs: 109.5, waitMs: 11 },
    { name: "the whole interval later", minMs: 20, startMs: 100, nowMs: 120, waitMs: 0 },
    { name: "long after", minMs: 20, startMs: 100, nowMs: 5000, waitMs: 0 },
    { name: "an interval of 0", minMs: 0, startMs: 100, nowMs: 100, waitMs: 0 },
  ]) {
    it(`${name}: ${waitMs} ms`, () => {
      let atMs = startMs ?? 0;
      const interval = createMinInterval(minMs, minMs, () => atMs);
      if (startMs !== undefined) interval.start();
      atMs = nowMs;
      expect(interval.waitMs()).to.equal(waitMs);
    });
  }

  for (const { name, durationMs, waitMs } of [
    { name: "a short run", durationMs: 3, waitMs: 20 },
    { name: "a longer run", durationMs: 25, waitMs: 50 },
    { name: "a run during an outage", durationMs: 9000, waitMs: 60 },
  ]) {
    it(`is twice the duration within its bounds: after ${name}, ${waitMs} ms`, () => {
      const interval = createMinInterval(20, 60, () => 100);
      interval.start();
      interval.finish(durationMs);
      expect(interval.waitMs()).to.equal(waitMs);
    });
  }

  it("is short again after a short run", () => {
    const interval = createMinInterval(20, 60, () => 100);
    interval.start();
    interval.finish(30);
    interval.finish(1);
    expect(interval.waitMs()).to.equal(20);
  });
});
