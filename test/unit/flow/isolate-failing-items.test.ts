import { expect } from "chai";
import { isolateFailingItems } from "../../../services/shared/flow/isolate-failing-items.ts";

describe("isolateFailingItems", () => {
  const cases: {
    name: string;
    items: number[];
    bad: number[];
    canSplit?: boolean;
    done: number[];
    failed: number[];
  }[] = [
    { name: "no bad item", items: [1, 2, 3], bad: [], done: [1, 2, 3], failed: [] },
    { name: "one bad item", items: [1, 2, 3, 4, 5], bad: [4], done: [1, 2, 3, 5], failed: [4] },
    { name: "only bad items", items: [1, 2, 3], bad: [1, 2, 3], done: [], failed: [1, 2, 3] },
    { name: "a lone bad item", items: [7], bad: [7], done: [], failed: [7] },
    { name: "an outage", items: [1, 2], bad: [2], canSplit: false, done: [], failed: [1, 2] },
  ];
  for (const { name, items, bad, canSplit = true, done, failed } of cases) {
    it(`runs the good items in order and fails the others: ${name}`, async () => {
      const ran: number[] = [];
      const lost: number[] = [];
      await isolateFailingItems(items, {
        run: async (batch) => {
          if (batch.some((item) => bad.includes(item))) throw new Error("bad");
          ran.push(...batch);
        },
        canSplit: () => canSplit,
        onFailure: (batch) => lost.push(...batch),
      });
      expect(ran).to.deep.equal(done);
      expect(lost).to.deep.equal(failed);
    });
  }
});
