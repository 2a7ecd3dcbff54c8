import { expect } from "chai";
import { runWalletChaos } from "../../chaos/wallet-chaos.ts";

describe("the wallet under kill -9 and a stopped database", () => {
  it("gives only correct answers and keeps every invariant", async function () {
    this.timeout(120_000);
    const seed = Math.floor(Math.random() * 1_000_000);
    const { faults, kills, stops } = await runWalletChaos({
      seed,
      operations: 8000,
      wallets: 11,
      replicas: 2,
      killEveryMs: 1000,
      stopDatabaseEveryMs: 1500,
      log: () => {},
    });
    expect(faults, `seed ${seed}`).to.deep.equal([]);
    expect(kills, `seed ${seed}`).to.be.greaterThan(0);
    expect(stops, `seed ${seed}`).to.be.greaterThan(0);
  });
});
