import { expect } from "chai";
import { parseHint } from "../../../services/wallet/adapters/contention-nats.ts";
import { createContention, retryDelayMs } from "../../../services/wallet/app/contention.ts";
import type {
  Contention,
  ContentionHint,
  WalletAccess,
} from "../../../services/wallet/app/ports.ts";

const WALLET = ["ten_a"];

/** Replicas that receive each other's hints at once, on one clock. */
function open(names: readonly string[]) {
  let now = 0;
  let isConnected = true;
  const hints: ContentionHint[] = [];
  const replicas = new Map<string, Contention>();
  for (const replica of names) {
    const publish = (hint: ContentionHint) => {
      hints.push(hint);
      if (isConnected) for (const other of replicas.values()) other.receive(hint);
    };
    replicas.set(replica, createContention({ replica, publish, nowMs: () => now }));
  }
  return {
    hints,
    enter: (name: string, wallets: readonly string[] = WALLET): WalletAccess =>
      (replicas.get(name) as Contention).enter(wallets),
    receive: (name: string, hint: ContentionHint) => replicas.get(name)?.receive(hint),
    isContended: (name: string) => replicas.get(name)?.isContended("ten_a"),
    advance(ms: number) {
      now += ms;
    },
    disconnect() {
      isConnected = false;
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
  it("publishes no hint while one replica writes the wallet", async () => {
    const { hints, enter, isContended } = open(["a", "b"]);
    const access = enter("a");
    expect(await isResolved(access.waitForOwner())).to.equal(true);
    access.leave();
    expect(hints).to.deep.equal([]);
    expect(isContended("a")).to.equal(false);
  });

  it("expects a conflict after a conflict and for one second after a hint", async () => {
    const { enter, receive, advance } = open(["a"]);
    const access = enter("a");
    await access.waitForOwner();
    expect(access.expectsConflict()).to.equal(false);
    void access.waitAfterConflict();
    expect(access.expectsConflict()).to.equal(true);
    access.leave();
    expect(enter("a").expectsConflict()).to.equal(false);
    receive("a", { kind: "waits", from: "b", tenantIds: ["ten_b"], alone: false });
    expect(enter("a").expectsConflict()).to.equal(false);
    expect(enter("a", ["ten_a", "ten_b"]).expectsConflict()).to.equal(true);
    advance(1000);
    expect(enter("a", ["ten_a", "ten_b"]).expectsConflict()).to.equal(false);
  });

  it("wakes the waiting replica when the owner leaves, and makes the next one wait", async () => {
    const { enter, isContended } = open(["a", "b"]);
    const first = enter("a");
    await first.waitForOwner();
    const second = enter("b");
    await second.waitForOwner();
    const retry = second.waitAfterConflict();
    expect(isContended("a")).to.equal(true);
    first.leave();
    expect(await isResolved(retry)).to.equal(true);
    const third = enter("a");
    const started = third.waitForOwner();
    expect(await isResolved(started)).to.equal(false);
    second.leave();
    expect(await isResolved(started)).to.equal(true);
    third.leave();
  });

  it("serves waiting replicas in the order of their hints", async () => {
    const { enter } = open(["a", "b", "c"]);
    const [first, second, third] = [enter("a"), enter("b"), enter("c")];
    await first.waitForOwner();
    const [secondRetry, thirdRetry] = [second.waitAfterConflict(), third.waitAfterConflict()];
    first.leave();
    expect(await isResolved(secondRetry)).to.equal(true);
    expect(await isResolved(thirdRetry)).to.equal(false);
    const next = enter("a");
    const started = next.waitForOwner();
    second.leave();
    expect(await isResolved(thirdRetry)).to.equal(true);
    expect(await isResolved(started)).to.equal(false);
    third.leave();
    expect(await isResolved(started)).to.equal(true);
  });

  it("hands a wallet on when the named replica has no transaction on it", async () => {
    const { hints, enter, receive } = open(["a", "b"]);
    const first = enter("a");
    await first.waitForOwner();
    // B's transaction has committed since it published this hint.
    receive("a", { kind: "waits", from: "b", tenantIds: WALLET, alone: true });
    first.leave();
    expect(hints.map((hint) => hint.kind === "next" && [hint.from, hint.to])).to.deep.equal([
      ["a", "b"],
      ["b", ""],
    ]);
    expect(await isResolved(enter("a").waitForOwner())).to.equal(true);
  });

  it("retries after milliseconds when no hint arrives", async () => {
    const { enter, disconnect } = open(["a", "b"]);
    disconnect();
    await enter("a").waitForOwner();
    const second = enter("b");
    const startedMs = performance.now();
    await second.waitAfterConflict();
    await second.waitAfterConflict();
    expect(performance.now() - startedMs).to.be.lessThan(1000);
    for (const conflicts of [0, 1, 10, 1000]) {
      expect(retryDelayMs(conflicts)).to.be.within(0.5, 12);
    }
  });

  it("does not wait for an owner that died", async () => {
    const { enter, advance } = open(["a", "b"]);
    const first = enter("a");
    await first.waitForOwner();
    void enter("b").waitAfterConflict();
    first.leave();
    const next = enter("a");
    expect(await isResolved(next.waitForOwner())).to.equal(false);
    advance(60);
    expect(await isResolved(enter("a").waitForOwner())).to.equal(true);
  });

  it("does not isolate a wallet because of a transaction on several wallets", async () => {
    const { enter, isContended } = open(["a", "b"]);
    const single = enter("a");
    await single.waitForOwner();
    const group = enter("b", ["ten_a", "ten_b"]);
    const retry = group.waitAfterConflict();
    single.leave();
    expect(await isResolved(retry)).to.equal(true);
    expect(isContended("a"), "hint of a transaction on two wallets").to.equal(false);
    expect(isContended("b"), "hint of a transaction on this wallet alone").to.equal(true);
    const next = enter("a");
    const started = next.waitForOwner();
    expect(await isResolved(started)).to.equal(false);
    group.leave();
    expect(await isResolved(started)).to.equal(true);
  });

  it("forgets a wallet one second after the last hint", async () => {
    const { enter, isContended, advance } = open(["a", "b"]);
    void enter("b").waitAfterConflict();
    expect(isContended("a")).to.equal(true);
    advance(1000);
    expect(isContended("a")).to.equal(false);
  });

  it("ignores texts that are no hints", () => {
    for (const text of [
      "",
      "null",
      "1",
      "{}",
      '{"kind":"next","from":"a"}',
      '{"kind":"waits","from":"a"}',
    ]) {
      expect(parseHint(text), text).to.equal(undefined);
    }
    const hint = { kind: "next", from: "a", tenantIds: WALLET, to: "b", alone: true };
    expect(parseHint(JSON.stringify(hint))).to.deep.equal(hint);
  });
});
