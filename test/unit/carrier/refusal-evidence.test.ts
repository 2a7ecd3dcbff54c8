import { expect } from "chai";
import { createRefusalEvidence } from "../../../services/carrier/app/refusal-evidence.ts";

const to = (count: number, prefix = "+2348031") => `${prefix}${String(count).padStart(6, "0")}`;
const submit = (count: number, more: { prefix?: string; from?: string } = {}) => ({
  to: to(count, more.prefix),
  from: more.from ?? "DEMO",
});

describe("the evidence of throttling refusals", () => {
  it("the first refusals of different numbers are about the bind", () => {
    const evidence = createRefusalEvidence();
    for (let at = 0; at < 50; at += 1) {
      expect(evidence.refused(submit(at))).to.deep.equal({ cause: "bind", weight: 1 });
    }
  });

  it("a number that is refused again says nothing until another submit was accepted", () => {
    const evidence = createRefusalEvidence();
    evidence.refused(submit(1));
    expect(evidence.refused(submit(1))).to.deep.equal({ cause: "unclear", weight: 0 });
    evidence.accepted(submit(2));
    expect(evidence.refused(submit(1)).weight).to.equal(1);
  });

  it("numbers that are refused again and again while others are accepted are the cause", () => {
    const evidence = createRefusalEvidence();
    for (let at = 0; at < 5; at += 1) evidence.refused(submit(at));
    for (let round = 0; round < 5; round += 1) {
      for (let at = 0; at < 10; at += 1) evidence.accepted(submit(100 + round * 10 + at));
      for (let at = 0; at < 5; at += 1) evidence.refused(submit(at));
    }
    expect(evidence.refused(submit(1))).to.deep.equal({ cause: "number", weight: 0 });
    expect(evidence.refused(submit(999)), "a fresh number").to.deep.equal({
      ...{ cause: "number", weight: 0.1 },
    });
  });

  it("a carrier that refuses all alike is the cause itself, however often it refuses", () => {
    const evidence = createRefusalEvidence();
    for (let at = 0; at < 2000; at += 1) {
      const again = submit(at % 100);
      if (at % 3 === 0) evidence.accepted(again);
      else if (at > 1000) expect(evidence.refused(again).cause).not.to.equal("number");
      else evidence.refused(again);
    }
  });

  for (const [what, refused, accepted] of [
    ["a sender", { from: "BANK" }, { from: "SHOP" }],
    ["a network", { prefix: "+2348099" }, { prefix: "+2348031" }],
  ] as const) {
    it(`${what} that is refused while others are accepted is the cause`, () => {
      const evidence = createRefusalEvidence();
      for (let at = 0; at < 50; at += 1) {
        evidence.accepted(submit(at, accepted));
        evidence.refused(submit(1000 + at, refused));
      }
      expect(evidence.refused(submit(9999, refused))).to.deep.equal({ cause: "number", weight: 0 });
      expect(evidence.refused(submit(9998, accepted)).weight).above(0);
    });
  }
});
