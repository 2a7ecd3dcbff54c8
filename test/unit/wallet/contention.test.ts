import { expect } from "chai";
import { createContention } from "../../../services/wallet/app/contention.ts";

/** A replica's view on a manual clock; it records waits, which never end. */
function open() {
  let now = 0;
  const waits: number[] = [];
  const contention = createContention(
    () => now,
    (ms) => {
      waits.push(ms);
      return new Promise(() => undefined);
    },
  );
  return {
    ...contention,
    waits,
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
    const { waitAfterConflict, waits } = open();
    for (const conflicts of [0, 10, 1000]) void waitAfterConflict(["ten_a"], conflicts);
    expect(waits.map((ms) => ms > 0 && ms <= 12)).to.deep.equal([true, true, true]);
  });
});
