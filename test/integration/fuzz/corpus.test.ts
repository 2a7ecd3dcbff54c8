/** Repeats the kept inputs of the fuzzers, and checks that the fuzzers can find a fault. */
import { expect } from "chai";
import { readCorpus } from "../../fuzz/corpus.ts";
import { createRandom } from "../../fuzz/random.ts";
import { type OpenTarget, runTarget } from "../../fuzz/run-target.ts";
import { FUZZ_TARGETS } from "../../fuzz/targets.ts";

/** New inputs for each target beside the kept ones; `make fuzz` tries as many as time allows. */
const NEW_INPUTS = 150;

describe("input that fuzzers made", function () {
  this.timeout(120_000);

  for (const { name, open } of FUZZ_TARGETS) {
    it(`${name}: every kept input and some new ones keep all promises`, async () => {
      const corpus = readCorpus(name);
      expect(corpus.length, "a corpus is kept").to.be.at.least(1);
      const target = await open();
      try {
        const { failures } = await runTarget(target, {
          seed: "the seed of make test",
          corpus,
          goesOn: (runs) => runs < corpus.length + target.seeds.length + NEW_INPUTS,
        });
        const reported = failures.map(
          ({ input, error }) => `${input.toString("hex")}: ${error.stack}`,
        );
        expect(reported).to.deep.equal([]);
      } finally {
        await target.close();
      }
    });
  }

  const fragile: OpenTarget = {
    seeds: [Buffer.from("a seed of fourteen")],
    check(input) {
      if (input.includes(0) && input.includes(0xff)) throw new Error("the two together");
    },
    close: async () => undefined,
  };
  const find = (seed: string) =>
    runTarget(fragile, { seed, corpus: [], goesOn: (runs) => runs < 5000 });

  it("a promise that two octets together break is found broken, and the input made small", async () => {
    const { failures } = await find("any");
    expect(failures.length).to.be.at.least(1);
    expect(failures[0]?.error.message).to.equal("the two together");
    expect(failures[0]?.input.toString("hex")).to.match(/^(00ff|ff00)$/);
  });

  it("an input that makes a check reject is a failure like one that makes it throw", async () => {
    const rejecting = { ...fragile, check: async () => Promise.reject(new Error("late")) };
    const { failures } = await runTarget(rejecting, { seed: "a", corpus: [], goesOn: () => true });
    expect(failures).to.have.length(5);
  });

  it("the same seed gives the same inputs, another seed others", async () => {
    const inputs = async (seed: string) =>
      (await find(seed)).failures.map(({ input }) => input.toString("hex"));
    expect(await inputs("any")).to.deep.equal(await inputs("any"));
    const drawn = (seed: string) => {
      const random = createRandom(seed);
      return Array.from({ length: 8 }, () => random.below(1000));
    };
    expect(drawn("one")).to.deep.equal(drawn("one")).and.to.not.deep.equal(drawn("two"));
  });
});
