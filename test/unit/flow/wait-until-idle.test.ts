import { expect } from "chai";
import { waitUntilIdle } from "../../../services/shared/flow/wait-until-idle.ts";

describe("waiting until idle", () => {
  it("returns at once when there is no work", async () => {
    // The limit is far beyond the timeout of a test.
    await waitUntilIdle(() => true, 600_000);
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
    expect(performance.now() - startedMs).to.be.at.least(29);
  });
});
