import { expect } from "chai";
import { readNote } from "../../../services/wallet/adapters/contention-nats.ts";
import {
  type ContentionHint,
  createRoundRobin,
  retryDelayMs,
  type Turn,
  type Turns,
} from "../../../services/wallet/store/contention.ts";

const WALLET = ["ten_a"];

/** Replicas that hear each other at once, on one clock. */
function open(names: readonly string[]) {
  let now = 0;
  let isHeard = true;
  const notes: ContentionHint[] = [];
  const replicas = new Map<string, Turns>();
  for (const replica of names) {
    const tell = (note: ContentionHint) => {
      notes.push(note);
      if (isHeard) for (const other of replicas.values()) other.hear(note);
    };
    replicas.set(replica, createRoundRobin({ replica, tell, nowMs: () => now }));
  }
  return {
    notes,
    enter: (name: string, wallets: readonly string[] = WALLET): Turn =>
      (replicas.get(name) as Turns).enter(wallets),
    hear: (name: string, note: ContentionHint) => replicas.get(name)?.hear(note),
    isHot: (name: string) => replicas.get(name)?.isHotElsewhere("ten_a"),
    advance(ms: number) {
      now += ms;
    },
    silence() {
      isHeard = false;
    },
  };
}

/** Whether a promise is settled without any time passing. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe("turns on a wallet that several replicas write", () => {
  it("cost nothing while no other replica wants the wallet", async () => {
    const { notes, enter, isHot } = open(["a", "b"]);
    const turn = enter("a");
    expect(await isSettled(turn.begin())).to.equal(true);
    turn.leave();
    expect(notes).to.deep.equal([]);
    expect(isHot("a")).to.equal(false);
  });

  it("expect others after a conflict, and where one was heard of a moment ago", async () => {
    const { enter, hear, advance } = open(["a"]);
    const turn = enter("a");
    await turn.begin();
    expect(turn.expectsOthers()).to.equal(false);
    void turn.again();
    expect(turn.expectsOthers()).to.equal(true);
    turn.leave();
    expect(enter("a").expectsOthers()).to.equal(false);
    hear("a", { kind: "waits", from: "b", tenantIds: ["ten_b"], alone: false });
    expect(enter("a").expectsOthers()).to.equal(false);
    expect(enter("a", ["ten_a", "ten_b"]).expectsOthers()).to.equal(true);
    advance(1000);
    expect(enter("a", ["ten_a", "ten_b"]).expectsOthers()).to.equal(false);
  });

  it("wake the one that waits as soon as the wallet is left, and let the other wait", async () => {
    const { enter, isHot } = open(["a", "b"]);
    const first = enter("a");
    await first.begin();
    const second = enter("b");
    await second.begin();
    const again = second.again();
    expect(isHot("a")).to.equal(true);
    first.leave();
    expect(await isSettled(again)).to.equal(true);
    const third = enter("a");
    const begun = third.begin();
    expect(await isSettled(begun)).to.equal(false);
    second.leave();
    expect(await isSettled(begun)).to.equal(true);
    third.leave();
  });

  it("go round in the order of asking", async () => {
    const { enter } = open(["a", "b", "c"]);
    const [first, second, third] = [enter("a"), enter("b"), enter("c")];
    await first.begin();
    const [secondAgain, thirdAgain] = [second.again(), third.again()];
    first.leave();
    expect(await isSettled(secondAgain)).to.equal(true);
    expect(await isSettled(thirdAgain)).to.equal(false);
    const next = enter("a");
    const begun = next.begin();
    second.leave();
    expect(await isSettled(thirdAgain)).to.equal(true);
    expect(await isSettled(begun)).to.equal(false);
    third.leave();
    expect(await isSettled(begun)).to.equal(true);
  });

  it("are passed on by a replica that is named and has nothing to do", async () => {
    const { notes, enter, hear } = open(["a", "b"]);
    const first = enter("a");
    await first.begin();
    // What it asked for was done meanwhile, and nobody heard of that.
    hear("a", { kind: "waits", from: "b", tenantIds: WALLET, alone: true });
    first.leave();
    expect(notes.map((note) => note.kind === "next" && [note.from, note.to])).to.deep.equal([
      ["a", "b"],
      ["b", ""],
    ]);
    expect(await isSettled(enter("a").begin())).to.equal(true);
  });

  it("go on when no note arrives: the database is asked again after milliseconds", async () => {
    const { enter, silence } = open(["a", "b"]);
    silence();
    await enter("a").begin();
    const second = enter("b");
    const startedMs = performance.now();
    await second.again();
    await second.again();
    expect(performance.now() - startedMs).to.be.lessThan(1000);
    for (const conflicts of [0, 1, 10, 1000]) {
      expect(retryDelayMs(conflicts)).to.be.within(0.5, 12);
    }
  });

  it("do not wait for a replica that took its turn and died", async () => {
    const { enter, advance } = open(["a", "b"]);
    const first = enter("a");
    await first.begin();
    void enter("b").again();
    first.leave();
    const next = enter("a");
    expect(await isSettled(next.begin())).to.equal(false);
    advance(60);
    expect(await isSettled(enter("a").begin())).to.equal(true);
  });

  it("let a transaction on many wallets in, and keep none of them out of the others' groups", async () => {
    const { enter, isHot } = open(["a", "b"]);
    const hot = enter("a");
    await hot.begin();
    const group = enter("b", ["ten_a", "ten_b"]);
    const again = group.again();
    hot.leave();
    expect(await isSettled(again)).to.equal(true);
    expect(isHot("a"), "told by a group").to.equal(false);
    expect(isHot("b"), "told by one that had it alone").to.equal(true);
    const next = enter("a");
    const begun = next.begin();
    expect(await isSettled(begun)).to.equal(false);
    group.leave();
    expect(await isSettled(begun)).to.equal(true);
  });

  it("are forgotten a second after the last note", async () => {
    const { enter, isHot, advance } = open(["a", "b"]);
    void enter("b").again();
    expect(isHot("a")).to.equal(true);
    advance(1000);
    expect(isHot("a")).to.equal(false);
  });

  it("take nothing from a note that is none", () => {
    for (const text of [
      "",
      "null",
      "1",
      "{}",
      '{"kind":"next","from":"a"}',
      '{"kind":"waits","from":"a"}',
    ]) {
      expect(readNote(text), text).to.equal(undefined);
    }
    const note = { kind: "next", from: "a", tenantIds: WALLET, to: "b", alone: true };
    expect(readNote(JSON.stringify(note))).to.deep.equal(note);
  });
});
