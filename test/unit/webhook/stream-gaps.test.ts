import { expect } from "chai";
import { createGapCounter } from "../../../services/webhook/adapters/stream-gaps.ts";

/** Looks, each as "the last that the consumer was given/the first that the stream has": what each counts. */
const CASES = [
  ["nothing was dropped", "100/1", "0"],
  ["only consumed ones were dropped", "100/1 110/90 110/111", "0 0 0"],
  ["the consumer stood, and its next ones were dropped", "100/1 100/121", "0 20"],
  ["they are counted once", "100/121 100/121 100/126", "20 0 5"],
  ["it went on behind the gap", "100/121 130/121 130/140", "20 0 9"],
  ["they were dropped while no process was there", "100/500", "399"],
  ["the stream was made anew", "100/121 3/1 3/6", "20 0 2"],
  ["a consumer that is new lacks nothing", "0/500 510/500", "0 0"],
] as const;

describe("events that a stream has dropped before its consumer had them", () => {
  for (const [what, positions, lost] of CASES) {
    it(`${what}: ${lost}`, () => {
      const count = createGapCounter();
      const counted = positions.split(" ").map((position) => {
        const [deliveredSeq = 0, firstSeq = 0] = position.split("/").map(Number);
        return count({ deliveredSeq, firstSeq });
      });
      expect(counted.join(" ")).to.equal(lost);
    });
  }
});
