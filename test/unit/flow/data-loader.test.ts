import { expect } from "chai";
import { createDataLoader } from "../../../services/shared/flow/data-loader.ts";

describe("a data loader", () => {
  /** A loader of squares that records its calls; a negative key is an error of its own. */
  function squares(load?: () => Promise<never>) {
    const calls: (readonly number[])[] = [];
    const loader = createDataLoader<number, number>({
      name: "squares",
      batchMax: 3,
      load: async (keys) => {
        calls.push(keys);
        if (load !== undefined) return load();
        return keys.map((key) => (key < 0 ? new Error(`bad ${key}`) : key * key));
      },
    });
    const outcomes = async (keys: readonly number[]) =>
      (await Promise.allSettled(keys.map(loader))).map((one) =>
        one.status === "fulfilled" ? one.value : (one.reason as Error).message,
      );
    return { calls, outcomes };
  }

  for (const { name, keys, calls, results } of [
    { name: "a lone key", keys: [2], calls: [[2]], results: [4] },
    { name: "keys of one moment", keys: [1, 2, 3], calls: [[1, 2, 3]], results: [1, 4, 9] },
    {
      name: "more than batchMax",
      keys: [1, 2, 3, 4],
      calls: [[1, 2, 3], [4]],
      results: [1, 4, 9, 16],
    },
    { name: "a bad key", keys: [1, -2, 3], calls: [[1, -2, 3]], results: [1, "bad -2", 9] },
  ]) {
    it(`loads ${name} in ${calls.length} call(s), each result in its place`, async () => {
      const loader = squares();
      expect(await loader.outcomes(keys)).to.deep.equal(results);
      expect(loader.calls).to.deep.equal(calls);
    });
  }

  it("fails every key of a failed call, without a second call", async () => {
    const loader = squares(() => Promise.reject(new Error("away")));
    expect(await loader.outcomes([1, 2])).to.deep.equal(["away", "away"]);
    expect(loader.calls).to.have.length(1);
  });
});
