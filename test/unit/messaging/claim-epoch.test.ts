import { expect } from "chai";
import {
  claimIdOf,
  isClaimCallFinished,
  readClaimCall,
} from "../../../services/messaging/domain/claim-epoch.ts";

describe("claim calls", () => {
  for (const [text, call] of [
    ["ab12.7", { epoch: "ab12", round: 7 }],
    ["ab12.7.e4b0c1d2-0000", { epoch: "ab12", round: 7 }],
    ["", undefined],
    ["7", undefined],
    ["ab12.", undefined],
    ["ab12.x", undefined],
    ["AB12.7", undefined],
    ["e4b0c1d2-0000-4000-8000-000000000000", undefined],
  ] as const) {
    it(`reads "${text}"`, () => expect(readClaimCall(text)).to.deep.equal(call));
  }

  it("an id begins with the call that made it, and is the plain one without", () => {
    expect(claimIdOf({ epoch: "ab", round: 3 }, "unique")).to.equal("ab.3.unique");
    expect(claimIdOf(undefined, "unique")).to.equal("unique");
  });

  const ended = { epoch: "ab", round: 5 };
  for (const [claimId, said, verdict, why] of [
    ["ab.5.x", ended, true, "the call has ended"],
    ["ab.4.x", ended, true, "an earlier call has ended"],
    ["ab.6.x", ended, false, "the call may still be answered"],
    ["cd.9.x", ended, true, "another process made it, and is dead"],
    ["r00000001ff.9.x", { epoch: "r00000002aa", round: 0 }, true, "an earlier process made it"],
    ["r00000002aa.1.x", { epoch: "r00000002aa", round: 0 }, false, "the process has just begun"],
    ["r00000003aa.1.x", { epoch: "r00000002aa", round: 9 }, false, "a later process made it"],
    ["r0000000zaa.1.x", { epoch: "r00000010aa", round: 9 }, true, "starts are counted in base 36"],
    ["cd.9.x", { epoch: "r00000002aa", round: 0 }, true, "a process of the version before made it"],
    ["r00000002aa.1.x", ended, false, "the word is of the version before, and late"],
    ["x", ended, undefined, "the claim is unnamed"],
    ["ab.5.x", undefined, undefined, "the carrier did not say"],
  ] as const) {
    it(`${claimId}: ${why}`, () => expect(isClaimCallFinished(claimId, said)).to.equal(verdict));
  }
});
