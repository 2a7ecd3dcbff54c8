import { expect } from "chai";
import { waitUntilIdle } from "../../../services/shared/flow/wait-until-idle.ts";

describe("waiting until idle", () => {
  it("returns at once when there is no work", async () => {
    const startedMs = performance.now();
    await waitUntilIdle(() => true, 10_000);
    expect(performance.now() - startedMs).to.be.lessThan(1000);
  });

  it("returns when the last work has ended", async () => {
    let left = 3;
    await waitUntilIdle(() => {
      left -= 1;
      return left === 0;
    }, 10_000);
    expect(left).to.equal(0);
  });

  it("returns at the limit when the work does not end", async () => {
    const startedMs = performance.now();
    await waitUntilIdle(() => false, 30);
    expect(performance.now() - startedMs).to.be.within(25, 5000);
  });
});
