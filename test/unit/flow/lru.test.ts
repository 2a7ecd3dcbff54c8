import { expect } from "chai";
import fc from "fast-check";
import { evictOldest, setRecent } from "../../../services/shared/flow/lru.ts";

describe("an LRU map", () => {
  it("keeps the most recently set keys", () => {
    const map = new Map<string, number>();
    for (const [at, key] of ["a", "b", "c", "a", "d"].entries()) setRecent(map, key, at, 3);
    expect([...map]).to.deep.equal([
      ["c", 2],
      ["a", 3],
      ["d", 4],
    ]);
  });

  it("never exceeds the limit, and evicts at most an eighth of it at once", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 300 }),
        (max, keys) => {
          const map = new Map<number, number>();
          const order: number[] = [];
          keys.forEach((key, at) => {
            setRecent(map, key, at, max);
            const before = order.indexOf(key);
            if (before >= 0) order.splice(before, 1);
            order.push(key);
            expect(map.size).to.be.at.most(max);
            expect([...map.keys()], "the newest, in order").to.deep.equal(order.slice(-map.size));
            expect(map.size).to.be.at.least(Math.min(order.length, max - (max >> 3)));
          });
        },
      ),
    );
  });

  it("evicts from sets too", () => {
    const set = new Set([1, 2, 3, 4]);
    evictOldest(set, 4);
    expect(set.size).to.equal(4);
    evictOldest(set, 2);
    expect([...set]).to.deep.equal([3, 4]);
  });

  it("costs about the same at every size: no repeated walk over deleted keys", () => {
    const perSetMs = (max: number) => {
      const map = new Map<string, number>();
      const sets = 20_000;
      for (let at = 0; at < max; at += 1) setRecent(map, `k${at}`, at, max);
      const startedMs = performance.now();
      for (let at = 0; at < sets; at += 1) setRecent(map, `k${max + at}`, at, max);
      return (performance.now() - startedMs) / sets;
    };
    // Evicting one key at a time costs 10 to 20 times as much in the large map.
    const ratios = Array.from({ length: 5 }, () => perSetMs(30_000) / perSetMs(1000));
    expect(Math.min(...ratios)).to.be.below(4);
  });
});
