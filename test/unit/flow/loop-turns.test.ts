import { expect } from "chai";
import { createLoopTurns } from "../../../services/shared/flow/loop-turns.ts";

describe("turns of the event loop", () => {
  it("leave other work as much of the loop as they take", async () => {
    const turns = createLoopTurns();
    const started: number[] = [];
    const work = async () => {
      await turns.next();
      const startMs = performance.now();
      started.push(startMs);
      while (performance.now() - startMs < 10);
    };
    await Promise.all([work(), work(), work()]);
    const [first = 0, second = 0, third = 0] = started;
    expect(second - first).to.be.at.least(19);
    expect(third - second).to.be.at.least(19);
  });

  it("come in order of arrival, the first at once", async () => {
    const turns = createLoopTurns();
    const order: number[] = [];
    await Promise.all([1, 2, 3].map((name) => turns.next().then(() => order.push(name))));
    expect(order).to.deep.equal([1, 2, 3]);
  });
});
