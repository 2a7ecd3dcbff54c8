import { expect } from "chai";
import { createBoundedMap } from "../../../services/shared/flow/bounded-map.ts";

describe("a bounded map", () => {
  it("evicts the oldest entry beyond its size, and counts an entry set again as the newest", () => {
    const evicted: number[] = [];
    const map = createBoundedMap<string, number>(2, (value) => void evicted.push(value));
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);
    expect(evicted).to.deep.equal([2]);
    map.delete("a");
    map.set("d", 5);
    expect(evicted).to.deep.equal([2]);
    expect([...map.entries()]).to.deep.equal([
      ["c", 4],
      ["d", 5],
    ]);
  });
});
