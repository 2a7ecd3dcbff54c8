import { expect } from "chai";
import { createContention } from "../../../services/wallet/app/contention.ts";

/** A replica's view, and how long a promise of it takes. */
function open() {
  let now = 0;
  const contention = createContention(() => now);
  return {
    ...contention,
    advance(ms: number) {
      now += ms;
    },
  };
}

/** Whether a promise resolves without any delay. */
async function isResolved(promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => {
    resolved = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return resolved;
}

describe("contention of replicas on a wallet", () => {
  it("neither waits nor expects a conflict while one replica writes the wallet", async () => {
    const { giveWay, isContended, expectsConflict } = open();
    expect(await isResolved(giveWay(["ten_a"]))).to.equal(true);
    expect(isContended("ten_a")).to.equal(false);
    expect(expectsConflict(["ten_a"])).to.equal(false);
  });

  it("gives way for a second after a conflict on the wallet alone", async () => {
    const { giveWay, isContended, expectsConflict, waitAfterConflict, advance } = open();
    expect(await isResolved(waitAfterConflict(["ten_a"], 0))).to.equal(false);
    expect(isContended("ten_a")).to.equal(true);
    expect(expectsConflict(["ten_b", "ten_a"])).to.equal(true);
    expect(expectsConflict(["ten_b"])).to.equal(false);
    expect(await isResolved(giveWay(["ten_a"]))).to.equal(false);
    advance(1000);
    expect(isContended("ten_a")).to.equal(false);
    expect(expectsConflict(["ten_a"])).to.equal(false);
    expect(await isResolved(giveWay(["ten_a"]))).to.equal(true);
  });

  it("does not isolate the wallets of a transaction on several wallets", async () => {
    const { giveWay, isContended, expectsConflict, waitAfterConflict } = open();
    void waitAfterConflict(["ten_a", "ten_b"], 0);
    expect(expectsConflict(["ten_b"])).to.equal(true);
    expect(isContended("ten_b")).to.equal(false);
    expect(await isResolved(giveWay(["ten_a", "ten_b"]))).to.equal(true);
    expect(await isResolved(giveWay(["ten_b"]))).to.equal(true);
  });

  it("waits some milliseconds however often a transaction conflicts", async () => {
    const { waitAfterConflict } = open();
    const fromMs = performance.now();
    await Promise.all([0, 10, 1000].map((conflicts) => waitAfterConflict(["ten_a"], conflicts)));
    expect(performance.now() - fromMs).to.be.below(1000);
  });
});
