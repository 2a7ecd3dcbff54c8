import { expect } from "chai";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createContinuity } from "../../../services/shared/core/continuity.ts";

describe("continuity", () => {
  function setUp() {
    const [wall, steady] = [createManualClock(1_000_000), createManualClock(0)];
    const continuity = createContinuity(wall, steady, 30_000);
    const pass = (ms: number) => {
      wall.advance(ms);
      steady.advance(ms);
    };
    return { wall, continuity, pass };
  }

  it("starts with the process", () => {
    const { continuity, pass } = setUp();
    expect(continuity.forMs()).to.equal(0);
    for (let time = 0; time < 5; time += 1) {
      pass(15_000);
      continuity.note();
    }
    expect(continuity.forMs()).to.equal(75_000);
  });

  it("starts again after an outage, a pause, or a step of the system clock", () => {
    const { wall, continuity, pass } = setUp();
    const hear = () => {
      pass(15_000);
      continuity.note();
    };
    for (let time = 0; time < 5; time += 1) hear();
    pass(30_001);
    expect(continuity.forMs()).to.equal(0);
    continuity.note();
    hear();
    expect(continuity.forMs()).to.equal(15_000);
    wall.advance(60_000);
    expect(continuity.forMs()).to.equal(0);
    continuity.note();
    pass(1000);
    expect(continuity.forMs()).to.equal(1000);
  });
});
