import { expect } from "chai";
import { createTokenBucket } from "../../../services/shared/flow/token-bucket.ts";

describe("a token bucket", () => {
  let nowMs = 0;
  const open = () => {
    nowMs = 0;
    return createTokenBucket(10, 2, () => nowMs);
  };

  it("starts full and refuses what it does not have, taking nothing", () => {
    const bucket = open();
    expect([bucket.take(7), bucket.take(4), bucket.take(3), bucket.take(1)]).to.deep.equal([
      true,
      false,
      true,
      false,
    ]);
  });

  it("refills by its rate, never beyond its capacity", () => {
    const bucket = open();
    bucket.take(10);
    nowMs = 1000;
    expect([bucket.take(2), bucket.take(1)]).to.deep.equal([true, false]);
    nowMs = 1_000_000;
    expect([bucket.take(10), bucket.take(1)]).to.deep.equal([true, false]);
  });
});
