import { expect } from "chai";
import type { Claimed } from "../../services/webhook/domain/delivery.ts";
import { createEarlyAttempts } from "../../services/webhook/service/early-attempts.ts";
import type { Settlement } from "../../services/webhook/service/ports.ts";

const LEASE = "lease-1";

function settlement(id: string, leaseId = LEASE): Settlement {
  const claimed = { id, leaseId } as Claimed;
  return { claimed, attempt: undefined, outcome: { status: "succeeded" }, atMs: 1 };
}

describe("attempts before their delivery is stored", () => {
  it("answers as soon as all results are there", async () => {
    const early = createEarlyAttempts();
    for (const id of ["a", "b"]) early.expect(id, LEASE);
    const startedMs = performance.now();
    const results = early.results(["a", "b"], 5000);
    expect(await early.keep(settlement("a"))).to.equal(true);
    expect(await early.keep(settlement("b"))).to.equal(true);
    expect([...(await results).keys()]).to.deep.equal(["a", "b"]);
    expect(performance.now() - startedMs).to.be.below(2500);
  });

  it("takes results that came before anybody asked", async () => {
    const early = createEarlyAttempts();
    early.expect("a", LEASE);
    await early.keep(settlement("a"));
    expect((await early.results(["a"], 5000)).get("a")?.outcome.status).to.equal("succeeded");
  });

  it("hands a late result on only when the delivery is stored", async () => {
    const early = createEarlyAttempts();
    for (const id of ["a", "b"]) early.expect(id, LEASE);
    await early.keep(settlement("a"));
    const results = await early.results(["a", "b"], 10);
    expect([...results.keys()]).to.deep.equal(["a"]);
    let isKept: boolean | undefined;
    const late = early.keep(settlement("b")).then((kept) => {
      isKept = kept;
    });
    await new Promise(setImmediate);
    expect(isKept).to.equal(undefined);
    early.end(["a", "b"]);
    await late;
    expect(isKept).to.equal(false);
  });

  it("tells what is under way, when that has ended, and what is known since", async () => {
    const early = createEarlyAttempts();
    early.expect("a", LEASE);
    early.noteKnown(["b"]);
    expect(["a", "b", "c"].map(early.isUnderWay)).to.deep.equal([true, false, false]);
    expect(["a", "b", "c"].map(early.isKnown)).to.deep.equal([false, true, false]);
    let hasEnded = false;
    const ended = early.ended("a").then(() => {
      hasEnded = true;
    });
    await new Promise(setImmediate);
    expect(hasEnded).to.equal(false);
    early.end(["a"]);
    await ended;
    await early.ended("c");
    expect(early.isUnderWay("a")).to.equal(false);
    expect(early.isKnown("a")).to.equal(true);
  });

  it("keeps nothing that it does not expect: another delivery's, another lease's, one that is stored", async () => {
    const early = createEarlyAttempts();
    early.expect("a", LEASE);
    expect(await early.keep(settlement("b"))).to.equal(false);
    expect(await early.keep(settlement("a", "lease-2"))).to.equal(false);
    early.end(["a"]);
    expect(await early.keep(settlement("a"))).to.equal(false);
  });
});
