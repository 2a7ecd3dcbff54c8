import { expect } from "chai";
import { newWallet } from "../../../services/wallet/domain/wallet.ts";
import { createOwnWrites } from "../../../services/wallet/store/own-writes.ts";

describe("the wallets that a process wrote last", () => {
  const walletOf = (tenantId: string) => newWallet(tenantId, "NGN", 0n, 1000);

  it("are given once, and only all together", () => {
    const own = createOwnWrites();
    const [a, b] = [walletOf("a"), walletOf("b")];
    own.keep([a, b]);
    expect(own.take(["a", "b"])).to.deep.equal([a, b]);
    expect(own.take(["a"])).to.equal(undefined);
    own.keep([a]);
    expect(own.take(["a", "b"])).to.equal(undefined);
    expect(own.take(["a"])).to.equal(undefined);
  });

  it("are not kept for ten seconds after another replica wrote one", () => {
    let nowMs = 0;
    const own = createOwnWrites(() => nowMs);
    own.avoid(["a"]);
    own.keep([walletOf("a"), walletOf("b")]);
    expect(own.take(["a"])).to.equal(undefined);
    expect(own.take(["b"])).to.have.length(1);
    nowMs = 10_000;
    own.keep([walletOf("a")]);
    expect(own.take(["a"])).to.have.length(1);
  });

  it("are at most 4,096, without the oldest", () => {
    const own = createOwnWrites();
    for (let at = 0; at <= 4096; at += 1) own.keep([walletOf(`${at}`)]);
    expect(own.take(["0"])).to.equal(undefined);
    expect(own.take(["1"])).to.have.length(1);
    expect(own.take(["4096"])).to.have.length(1);
  });
});
