import { expect } from "chai";
import { pollPauseMs } from "../../../console/core/poll-pause.ts";

describe("the pause of a page that polls", () => {
  for (const [failures, repeats, ms] of [
    [0, 0, 2000],
    [0, 1, 3000],
    [0, 2, 4500],
    [0, 3, 6750],
    [0, 4, 8000],
    [0, 1000, 8000],
    [1, 0, 4000],
    [3, 9, 16_000],
    [5, 0, 60_000],
    [1000, 0, 60_000],
  ] as const) {
    it(`of 2 s is ${ms} ms after ${failures} failures and ${repeats} equal answers`, () => {
      expect(pollPauseMs(2000, { failures, repeats })).to.equal(ms);
    });
  }
});
