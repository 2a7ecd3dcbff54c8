import { expect } from "chai";
import { createTurns } from "../../services/wallet/store/turns.ts";

describe("turns on a wallet that several replicas write", () => {
  function open() {
    let now = 0;
    const turns = createTurns(() => now);
    const advance = (ms: number) => {
      now += ms;
    };
    return { turns, advance };
  }

  it("never hold back a replica that met no other", () => {
    const { turns } = open();
    turns.finished(["ten_a"], 20, 0);
    expect(turns.stepBackMs(["ten_a"])).to.equal(0);
  });

  it("let one that met another step back for as long as it had the wallet", () => {
    const { turns, advance } = open();
    turns.finished(["ten_a"], 20, 2);
    expect(turns.stepBackMs(["ten_a"])).to.equal(20);
    advance(15);
    expect(turns.stepBackMs(["ten_a"])).to.equal(5);
    expect(turns.stepBackMs(["ten_b"])).to.equal(0);
    advance(10);
    expect(turns.stepBackMs(["ten_a"])).to.equal(0);
  });

  it("are forgotten a second after the last meeting", () => {
    const { turns, advance } = open();
    turns.finished(["ten_a"], 20, 1);
    advance(600);
    turns.finished(["ten_a"], 20, 0);
    expect(turns.stepBackMs(["ten_a"])).to.equal(20);
    advance(401);
    turns.finished(["ten_a"], 20, 0);
    expect(turns.stepBackMs(["ten_a"])).to.equal(0);
  });

  it("never hold a replica back for longer than 50 ms, nor let it ask slower than every 12", () => {
    const { turns } = open();
    turns.finished(["ten_a"], 5000, 1);
    expect(turns.stepBackMs(["ten_a"])).to.equal(50);
    for (const conflicts of [0, 1, 10, 1000]) {
      expect(turns.askAgainMs(conflicts)).to.be.within(0.5, 12);
    }
  });
});
