import { expect } from "chai";
import fc from "fast-check";
import { nextLimit } from "../../../gateway/load-shedding/limit.ts";

const BOUNDS = { requestsMin: 512, requestsMax: 2000, delayMaxMs: 500 };

describe("the room for requests", () => {
  for (const [finished, meanRunning, durationMs, room, why] of [
    [0, 0, 500, 2000, "idle: nothing is known to be slow"],
    [2500, 200, 500, 2000, "busy without a queue"],
    [0, 200, 500, 2000, "few requests that all hang are not overload"],
    [5000, 1900, 500, 2000, "a queue that a fast service works off in time"],
    [1000, 1900, 500, 1000, "a queue of which a thousand finish within the delay"],
    [1000, 1900, 1000, 512, "the same, seen over a longer window"],
    [700, 600, 500, 700, "just above the least room"],
    [0, 1900, 500, 512, "a queue that does not move keeps the least room"],
    [1000, 1900, 0, 2000, "an empty window tells nothing"],
  ] as const) {
    it(`is ${room} after ${finished} in ${durationMs} ms, ${meanRunning} in progress: ${why}`, () => {
      expect(nextLimit({ finished, meanRunning, durationMs }, BOUNDS)).to.equal(room);
    });
  }

  it("stays within its bounds, and more finished requests never make less room", () => {
    const count = fc.integer({ min: 0, max: 1_000_000 });
    const window = fc.record({ meanRunning: count, durationMs: fc.integer({ min: 1, max: 5000 }) });
    fc.assert(
      fc.property(window, count, count, (seen, some, more) => {
        const [fewer, greater] = [Math.min(some, more), Math.max(some, more)];
        const less = nextLimit({ ...seen, finished: fewer }, BOUNDS);
        const room = nextLimit({ ...seen, finished: greater }, BOUNDS);
        expect(room).to.be.within(BOUNDS.requestsMin, BOUNDS.requestsMax);
        expect(room).to.be.at.least(less);
      }),
    );
  });
});
