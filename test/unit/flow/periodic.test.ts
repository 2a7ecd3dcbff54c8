import { expect } from "chai";
import { startLoop } from "../../../services/shared/flow/periodic.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { eventually } from "../../support/poll.ts";

describe("a loop with failing work", () => {
  it("waits at most retryMaxMs after any number of failures", async () => {
    let runs = 0;
    const loop = startLoop({
      name: "failing",
      intervalMs: 1000,
      retryMaxMs: 10,
      log: createLogger("test", "silent"),
      work: async () => {
        runs += 1;
        throw new Error("away");
      },
    });
    // Without retryMaxMs the waits before the fifth run alone would exceed 700 ms.
    const fromMs = performance.now();
    await eventually(() => runs >= 10);
    expect(performance.now() - fromMs).to.be.lessThan(700);
    await loop.close();
  });
});
