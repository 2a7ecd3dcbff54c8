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
    // Without retryMaxMs the waits before the twelfth run would last 25 s at least.
    await eventually(() => runs >= 12);
    await loop.close();
  });
});

describe("a loop", () => {
  /** A loop that counts its runs; `more` says whether a run leaves work. */
  function start(intervalMs: number, more: (run: number) => boolean) {
    let runs = 0;
    const loop = startLoop({
      name: "counting",
      intervalMs,
      log: createLogger("test", "silent"),
      work: async () => {
        runs += 1;
        return more(runs);
      },
    });
    return { loop, runs: () => runs };
  }

  it("runs again at once while there is more to do, then waits until it is nudged", async () => {
    const { loop, runs } = start(60_000, (run) => run < 3);
    await eventually(() => runs() === 3);
    loop.nudge();
    await eventually(() => runs() === 4);
    await loop.close();
    expect(runs()).to.equal(4);
  });

  it("does not wait after a run during which it was nudged", async () => {
    const running = Promise.withResolvers<void>();
    let runs = 0;
    const loop = startLoop({
      name: "nudged",
      intervalMs: 60_000,
      log: createLogger("test", "silent"),
      work: async () => {
        runs += 1;
        if (runs === 1) await running.promise;
        return false;
      },
    });
    loop.nudge();
    running.resolve();
    await eventually(() => runs === 2);
    await loop.close();
  });

  it("asks a function for the wait after each run", async () => {
    const waits = [1, 60_000];
    let runs = 0;
    const loop = startLoop({
      name: "asking",
      intervalMs: () => waits[runs - 1] ?? 60_000,
      log: createLogger("test", "silent"),
      work: async () => {
        runs += 1;
        return false;
      },
    });
    await eventually(() => runs === 2);
    await loop.close();
    expect(runs).to.equal(2);
  });

  it("closes at once while it waits", async () => {
    const { loop, runs } = start(60_000, () => false);
    await eventually(() => runs() === 1);
    await loop.close();
  });
});
