import { expect } from "chai";
import fc from "fast-check";
import { itemText } from "../../../services/wallet/domain/check-ledger.ts";
import {
  addToBucket,
  chooseBuckets,
  compareItem,
  emptyBuckets,
} from "../../../services/wallet/domain/set-difference.ts";

/** The differences of two sides, with memory for at most `itemsMax` items. */
function compare(ledger: readonly string[], others: readonly string[], itemsMax: number) {
  const buckets = emptyBuckets();
  for (const item of ledger) addToBucket(buckets, "ledger", item);
  for (const item of others) addToBucket(buckets, "others", item);
  const differences = chooseBuckets(buckets, itemsMax);
  let kept = 0;
  const meet = (source: "ledger" | "others", item: string) => {
    compareItem(differences, source, item);
    kept = Math.max(kept, differences.unmatched.size);
  };
  for (const item of ledger) meet("ledger", item);
  for (const item of others) meet("others", item);
  const { unmatched, left } = differences;
  return { unmatched: Object.fromEntries(unmatched), left, kept };
}

const items = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => itemText("capture", `msg_${from + at}`, 10n));

describe("the difference of two sets", () => {
  it("names the differing items and drops items that both sides have", () => {
    const shared = items(50_000);
    const ledger = [...shared, "capture msg_x 10", "hold rsv_x 5", "hold rsv_x 5"];
    const others = [...shared.toReversed(), "capture msg_x 12"];
    const { unmatched, left, kept } = compare(ledger, others, 1000);
    expect(unmatched).to.deep.equal({
      "capture msg_x 10": 1,
      "capture msg_x 12": -1,
      "hold rsv_x 5": 2,
    });
    expect(left).to.equal(0);
    expect(kept).to.be.below(50);
  });

  it("is a lower bound when it exceeds the memory limit", () => {
    const { unmatched, left, kept } = compare(items(50_000), [], 1000);
    const named = Object.keys(unmatched).length;
    expect(named).to.be.within(900, 1000);
    expect(kept).to.equal(named);
    expect(left).to.be.within(1000, 50_000 - named);
  });

  it("equals the multiset difference of any two sides", () => {
    const source = fc.array(fc.constantFrom(...items(8)), { maxLength: 30 });
    fc.assert(
      fc.property(source, source, (ledger, others) => {
        const expected: Record<string, number> = {};
        for (const item of ledger) expected[item] = (expected[item] ?? 0) + 1;
        for (const item of others) expected[item] = (expected[item] ?? 0) - 1;
        for (const item of items(8)) if (expected[item] === 0) delete expected[item];
        expect(compare(ledger, others, 100).unmatched).to.deep.equal(expected);
      }),
      { numRuns: 10 },
    );
  });
});
