import { expect } from "chai";
import fc from "fast-check";
import { partText } from "../../../services/wallet/domain/check-ledger.ts";
import {
  addToHeap,
  chooseHeaps,
  emptyHeaps,
  meetPart,
} from "../../../services/wallet/domain/set-difference.ts";

/** What is found different between two books, with room for so many parts. */
function compare(ledger: readonly string[], others: readonly string[], partsMax: number) {
  const heaps = emptyHeaps();
  for (const part of ledger) addToHeap(heaps, "ledger", part);
  for (const part of others) addToHeap(heaps, "others", part);
  const differences = chooseHeaps(heaps, partsMax);
  let remembered = 0;
  const meet = (book: "ledger" | "others", part: string) => {
    meetPart(differences, book, part);
    remembered = Math.max(remembered, differences.unmatched.size);
  };
  for (const part of ledger) meet("ledger", part);
  for (const part of others) meet("others", part);
  const { unmatched, left } = differences;
  return { unmatched: Object.fromEntries(unmatched), left, remembered };
}

const parts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => partText("capture", `msg_${from + at}`, 10n));

describe("the differences of two books", () => {
  it("are named, and nothing that both have is remembered for long", () => {
    const shared = parts(50_000);
    const ledger = [...shared, "capture msg_x 10", "hold rsv_x 5", "hold rsv_x 5"];
    const others = [...shared.toReversed(), "capture msg_x 12"];
    const { unmatched, left, remembered } = compare(ledger, others, 1000);
    expect(unmatched).to.deep.equal({
      "capture msg_x 10": 1,
      "capture msg_x 12": -1,
      "hold rsv_x 5": 2,
    });
    expect(left).to.equal(0);
    expect(remembered).to.be.below(50);
  });

  it("are counted from below when there are more than there is room for", () => {
    const { unmatched, left, remembered } = compare(parts(50_000), [], 1000);
    const named = Object.keys(unmatched).length;
    expect(named).to.be.within(900, 1000);
    expect(remembered).to.equal(named);
    expect(left).to.be.within(1000, 50_000 - named);
  });

  it("are those of the two as sets with counts, whatever the books have", () => {
    const book = fc.array(fc.constantFrom(...parts(8)), { maxLength: 30 });
    fc.assert(
      fc.property(book, book, (ledger, others) => {
        const expected: Record<string, number> = {};
        for (const part of ledger) expected[part] = (expected[part] ?? 0) + 1;
        for (const part of others) expected[part] = (expected[part] ?? 0) - 1;
        for (const part of parts(8)) if (expected[part] === 0) delete expected[part];
        expect(compare(ledger, others, 100).unmatched).to.deep.equal(expected);
      }),
      { numRuns: 10 },
    );
  });
});
