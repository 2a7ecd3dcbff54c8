import { expect } from "chai";
import { CLAIM_MAX, fairShare } from "../../../services/messaging/domain/fair-share.ts";

describe("the room of one call, shared out among its claims", () => {
  for (const [wanted, room, shares, why] of [
    [[], 10, [], "no claim"],
    [[4], 10, [4], "there is room"],
    [[40], 10, [10], "one asks for more than there is"],
    [[3, 7], 10, [3, 7], "it is just enough"],
    [[9, 2, 9], 10, [4, 2, 4], "who asks for little gets it, the others share the rest"],
    [[9, 9, 9], 10, [3, 4, 3], "the remainder goes to some claims"],
    [
      [0, -5, 20],
      10,
      [0, -5, 10],
      "an invalid claim is unchanged and takes nothing from the others",
    ],
  ] as const) {
    it(`${wanted.join(", ")} of ${room}: ${why}`, () => {
      const found = fairShare(wanted, room);
      expect([...found].sort()).to.deep.equal([...shares].sort());
      for (const [at, share] of found.entries()) expect(share).to.be.at.most(wanted[at] as number);
    });
  }

  it("never hands out more than one call may bring, and something to each of the most claims", () => {
    const shares = fairShare(new Array(256).fill(1000));
    expect(shares.reduce((sum, share) => sum + share, 0)).to.equal(CLAIM_MAX);
    expect(Math.min(...shares)).to.be.greaterThan(0);
  });
});
