import { expect } from "chai";
import { singleFlight } from "../../../services/shared/flow/single-flight.ts";

describe("singleFlight", () => {
  it("runs once for concurrent callers, and again for a later one", async () => {
    const makings: PromiseWithResolvers<number>[] = [];
    const ask = singleFlight(() => {
      const making = Promise.withResolvers<number>();
      makings.push(making);
      return making.promise;
    });
    const first = [ask(), ask(), ask()];
    expect(makings.length).to.equal(1);
    makings[0]?.resolve(1);
    expect(await Promise.all(first)).to.deep.equal([1, 1, 1]);
    const second = ask();
    makings[1]?.resolve(2);
    expect(await second).to.equal(2);
  });

  it("shares a failure with concurrent callers, and runs again for a later one", async () => {
    let count = 0;
    const ask = singleFlight(async () => {
      count += 1;
      if (count === 1) throw new Error("away");
      return count;
    });
    const [one, two] = await Promise.allSettled([ask(), ask()]);
    expect([one?.status, two?.status]).to.deep.equal(["rejected", "rejected"]);
    expect(await ask()).to.equal(2);
  });
});
