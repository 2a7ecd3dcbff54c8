import { expect } from "chai";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createUnbroken } from "../../../services/shared/core/continuity.ts";

describe("continuity", () => {
  function setUp() {
    const [wall, steady] = [createManualClock(1_000_000), createManualClock(0)];
    const hearing = createUnbroken(wall, steady, 30_000);
    const pass = (ms: number) => {
      wall.advance(ms);
      steady.advance(ms);
    };
    return { wall, hearing, pass };
  }

  it("starts with the process", () => {
    const { hearing, pass } = setUp();
    expect(hearing.forMs()).to.equal(0);
    for (let time = 0; time < 5; time += 1) {
      pass(15_000);
      hearing.note();
    }
    expect(hearing.forMs()).to.equal(75_000);
  });

  it("starts again after an outage, a pause, or a step of the system clock", () => {
    const { wall, hearing, pass } = setUp();
    const hear = () => {
      pass(15_000);
      hearing.note();
    };
    for (let time = 0; time < 5; time += 1) hear();
    pass(30_001);
    expect(hearing.forMs()).to.equal(0);
    hearing.note();
    hear();
    expect(hearing.forMs()).to.equal(15_000);
    wall.advance(60_000);
    expect(hearing.forMs()).to.equal(0);
    hearing.note();
    pass(1000);
    expect(hearing.forMs()).to.equal(1000);
  });
});
