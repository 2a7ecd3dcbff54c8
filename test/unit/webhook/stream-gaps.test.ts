import { expect } from "chai";
import { createGapCounter } from "../../../services/webhook/adapters/stream-gaps.ts";

/** Positions as "last delivered/first stored", and the gap that each check counts. */
const CASES = [
  ["counts no gap without deleted events", "100/1", "0"],
  ["counts no deleted event that was consumed", "100/1 110/90 110/111", "0 0 0"],
  ["counts deleted events that a stopped consumer did not receive", "100/1 100/121", "0 20"],
  ["counts each event once", "100/121 100/121 100/126", "20 0 5"],
  ["counts a second gap after the consumer continued", "100/121 130/121 130/140", "20 0 9"],
  ["counts events deleted while no process ran", "100/500", "399"],
  ["starts again with a recreated stream", "100/121 3/1 3/6", "20 0 2"],
  ["counts no gap for a new consumer", "0/500 510/500", "0 0"],
] as const;

describe("gaps of the event stream", () => {
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
