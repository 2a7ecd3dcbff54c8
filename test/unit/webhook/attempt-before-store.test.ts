import { expect } from "chai";
import { createEarlyAttempts } from "../../../services/webhook/app/attempt-before-store.ts";
import type { Settlement } from "../../../services/webhook/app/ports.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";

const LEASE = "lease-1";

const LONG = { quietMs: 5000, limitMs: 5000 };

const delivery = (id: string, endpointId = "e") => ({ id, endpointId });

function settlement(id: string, leaseId = LEASE, endpointId = "e"): Settlement {
  const claimed = { id, leaseId, endpointId } as Claimed;
  return { claimed, attempt: undefined, outcome: { status: "succeeded" }, atMs: 1 };
}

describe("attempts before their delivery is stored", () => {
  it("answers as soon as all results are there", async () => {
    const early = createEarlyAttempts();
    for (const id of ["a", "b"]) early.expect(delivery(id), LEASE);
    const startedMs = performance.now();
    const results = early.results(["a", "b"], LONG);
    expect(await early.keep(settlement("a"))).to.equal(true);
    expect(await early.keep(settlement("b"))).to.equal(true);
    expect([...(await results).keys()]).to.deep.equal(["a", "b"]);
    expect(performance.now() - startedMs).to.be.below(2500);
  });

  it("takes results that came before anybody asked", async () => {
    const early = createEarlyAttempts();
    early.expect(delivery("a"), LEASE);
    await early.keep(settlement("a"));
    expect((await early.results(["a"], LONG)).get("a")?.outcome.status).to.equal("succeeded");
  });

  const MANY = Array.from({ length: 40 }, (_, at) => `d${at}`);

  it("waits for many while their endpoint answers, and for a few at the end no longer", async () => {
    const early = createEarlyAttempts();
    for (const id of MANY) early.expect(delivery(id, "busy"), LEASE);
    const [hanging, ...others] = MANY;
    const answers = setInterval(() => {
      const id = others.shift();
      if (id !== undefined) void early.keep(settlement(id, LEASE, "busy"));
      else void early.keep(settlement("another", LEASE, "busy"));
    }, 20);
    const startedMs = performance.now();
    const results = await early.results(MANY, { quietMs: 300, limitMs: 60_000 });
    clearInterval(answers);
    expect(performance.now() - startedMs, "longer than quiet alone").to.be.above(400);
    expect(results.size).to.be.within(MANY.length - 8, MANY.length - 1);
    expect(results.has(hanging as string)).to.equal(false);
  });

  it("waits for none that hang, whatever other endpoints answer", async () => {
    const early = createEarlyAttempts();
    for (const id of MANY) early.expect(delivery(id, "hangs"), LEASE);
    const answers = setInterval(() => early.keep(settlement("another", LEASE, "busy")), 5);
    const startedMs = performance.now();
    expect((await early.results(MANY, { quietMs: 50, limitMs: 60_000 })).size).to.equal(0);
    clearInterval(answers);
    expect(performance.now() - startedMs).to.be.below(5000);
  });

  it("waits for no busy endpoint beyond the limit", async () => {
    const early = createEarlyAttempts();
    for (const id of MANY) early.expect(delivery(id), LEASE);
    const answers = setInterval(() => early.keep(settlement("another")), 5);
    expect((await early.results(MANY, { quietMs: 100, limitMs: 200 })).size).to.equal(0);
    clearInterval(answers);
  });

  it("hands a late result on only when the delivery is stored", async () => {
    const early = createEarlyAttempts();
    for (const id of ["a", "b"]) early.expect(delivery(id), LEASE);
    await early.keep(settlement("a"));
    const results = await early.results(["a", "b"], { quietMs: 10, limitMs: 10 });
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
    early.expect(delivery("a"), LEASE);
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
    early.expect(delivery("a"), LEASE);
    expect(await early.keep(settlement("b"))).to.equal(false);
    expect(await early.keep(settlement("a", "lease-2"))).to.equal(false);
    early.end(["a"]);
    expect(await early.keep(settlement("a"))).to.equal(false);
  });
});
