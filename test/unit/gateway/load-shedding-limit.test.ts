import { expect } from "chai";
import fc from "fast-check";
import { nextLimit } from "../../../gateway/load-shedding/adaptive-limit.ts";

const BOUNDS = { requestsMin: 512, requestsMax: 2000, delayMaxMs: 500 };

describe("the load limit", () => {
  for (const [finished, meanRunning, durationMs, limit, why] of [
    [0, 0, 500, 2000, "idle"],
    [2500, 200, 500, 2000, "busy without a queue"],
    [0, 200, 500, 2000, "few requests that all hang are not overload"],
    [5000, 1900, 500, 2000, "a queue that a fast service works off in time"],
    [1000, 1900, 500, 1000, "a queue of which a thousand finish within the delay"],
    [1000, 1900, 1000, 512, "the same, seen over a longer window"],
    [700, 600, 500, 700, "just above the minimum"],
    [0, 1900, 500, 512, "a queue that does not move keeps the minimum"],
    [1000, 1900, 0, 2000, "an empty window has no information"],
  ] as const) {
    it(`is ${limit} after ${finished} in ${durationMs} ms, ${meanRunning} in progress: ${why}`, () => {
      expect(nextLimit({ finished, meanRunning, durationMs }, BOUNDS)).to.equal(limit);
    });
  }

  it("stays within its bounds, and more finished requests never lower it", () => {
    const count = fc.integer({ min: 0, max: 1_000_000 });
    const window = fc.record({ meanRunning: count, durationMs: fc.integer({ min: 1, max: 5000 }) });
    fc.assert(
      fc.property(window, count, count, (seen, some, more) => {
        const [fewer, greater] = [Math.min(some, more), Math.max(some, more)];
        const less = nextLimit({ ...seen, finished: fewer }, BOUNDS);
        const limit = nextLimit({ ...seen, finished: greater }, BOUNDS);
        expect(limit).to.be.within(BOUNDS.requestsMin, BOUNDS.requestsMax);
        expect(limit).to.be.at.least(less);
      }),
    );
  });
});
