import { expect } from "chai";
import { createBindStats } from "../../../services/carrier/domain/bind-stats.ts";

describe("the figures of a bind", () => {
  it("are zero in the first second of the process, whose clock begins at zero", () => {
    const stats = createBindStats();
    expect(stats.acceptsPerSecond(0)).to.equal(0);
    expect(stats.acceptsPerSecond(999)).to.equal(0);
  });

  it("count the accepted submits of the last whole second, or of this one if there are more", () => {
    const stats = createBindStats();
    for (const atMs of [100, 200, 1100])
      stats.noteOutcome({ kind: "accepted", carrierMessageId: "1" }, 5, atMs);
    expect(stats.acceptsPerSecond(900)).to.equal(2);
    expect(stats.acceptsPerSecond(1500)).to.equal(2);
    expect(stats.acceptsPerSecond(2500)).to.equal(1);
  });
});
