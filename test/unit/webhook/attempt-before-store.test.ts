import { expect } from "chai";
import { createAttemptsBeforeStore } from "../../../services/webhook/app/attempt-before-store.ts";
import type { AttemptResult } from "../../../services/webhook/app/ports.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";

const LEASE = "lease-1";

const LONG = { quietMs: 5000, limitMs: 5000 };

const delivery = (id: string, endpointId = "e") => ({ id, endpointId });

function settlement(id: string, leaseId = LEASE, endpointId = "e"): AttemptResult {
  const claimed = { id, leaseId, endpointId } as Claimed;
  return { claimed, attempt: undefined, next: { status: "succeeded" }, atMs: 1 };
}

describe("attempts before their delivery is stored", () => {
  it("answers as soon as all results are there", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of ["a", "b"]) attempts.begin(delivery(id), LEASE);
    const startedMs = performance.now();
    const results = attempts.results(["a", "b"], LONG);
    expect(await attempts.offer(settlement("a"))).to.equal(true);
    expect(await attempts.offer(settlement("b"))).to.equal(true);
    expect([...(await results).keys()]).to.deep.equal(["a", "b"]);
    expect(performance.now() - startedMs).to.be.below(2500);
  });

  it("takes results that came before anybody asked", async () => {
    const attempts = createAttemptsBeforeStore();
    attempts.begin(delivery("a"), LEASE);
    await attempts.offer(settlement("a"));
    expect((await attempts.results(["a"], LONG)).get("a")?.next.status).to.equal("succeeded");
  });

  const MANY = Array.from({ length: 40 }, (_, at) => `d${at}`);

  it("waits for many while their endpoint answers, and for a few at the end no longer", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of MANY) attempts.begin(delivery(id, "busy"), LEASE);
    const [hanging, ...others] = MANY;
    const answers = setInterval(() => {
      const id = others.shift();
      if (id !== undefined) void attempts.offer(settlement(id, LEASE, "busy"));
      else void attempts.offer(settlement("another", LEASE, "busy"));
    }, 20);
    const startedMs = performance.now();
    const results = await attempts.results(MANY, { quietMs: 300, limitMs: 60_000 });
    clearInterval(answers);
    expect(performance.now() - startedMs, "longer than quiet alone").to.be.above(400);
    expect(results.size).to.be.within(MANY.length - 8, MANY.length - 1);
    expect(results.has(hanging as string)).to.equal(false);
  });

  it("waits for none that hang, whatever other endpoints answer", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of MANY) attempts.begin(delivery(id, "hangs"), LEASE);
    const answers = setInterval(() => attempts.offer(settlement("another", LEASE, "busy")), 5);
    const startedMs = performance.now();
    expect((await attempts.results(MANY, { quietMs: 50, limitMs: 60_000 })).size).to.equal(0);
    clearInterval(answers);
    expect(performance.now() - startedMs).to.be.below(5000);
  });

  it("waits for no busy endpoint beyond the limit", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of MANY) attempts.begin(delivery(id), LEASE);
    const answers = setInterval(() => attempts.offer(settlement("another")), 5);
    expect((await attempts.results(MANY, { quietMs: 100, limitMs: 200 })).size).to.equal(0);
    clearInterval(answers);
  });

  it("hands a late result on only when the delivery is stored", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of ["a", "b"]) attempts.begin(delivery(id), LEASE);
    await attempts.offer(settlement("a"));
    const results = await attempts.results(["a", "b"], { quietMs: 10, limitMs: 10 });
    expect([...results.keys()]).to.deep.equal(["a"]);
    let isKept: boolean | undefined;
    const late = attempts.offer(settlement("b")).then((kept) => {
      isKept = kept;
    });
    await new Promise(setImmediate);
    expect(isKept).to.equal(undefined);
    attempts.finish(["a", "b"]);
    await late;
    expect(isKept).to.equal(false);
  });

  it("tells what is under way, when that has ended, and what is known since", async () => {
    const attempts = createAttemptsBeforeStore();
    attempts.begin(delivery("a"), LEASE);
    attempts.markStored(["b"]);
    expect(["a", "b", "c"].map(attempts.isRunning)).to.deep.equal([true, false, false]);
    expect(["a", "b", "c"].map(attempts.wasStored)).to.deep.equal([false, true, false]);
    let hasEnded = false;
    const ended = attempts.finished("a").then(() => {
      hasEnded = true;
    });
    await new Promise(setImmediate);
    expect(hasEnded).to.equal(false);
    attempts.finish(["a"]);
    await ended;
    await attempts.finished("c");
    expect(attempts.isRunning("a")).to.equal(false);
    expect(attempts.wasStored("a")).to.equal(true);
  });

  it("keeps nothing that it does not expect: another delivery's, another lease's, one that is stored", async () => {
    const attempts = createAttemptsBeforeStore();
    attempts.begin(delivery("a"), LEASE);
    expect(await attempts.offer(settlement("b"))).to.equal(false);
    expect(await attempts.offer(settlement("a", "lease-2"))).to.equal(false);
    attempts.finish(["a"]);
    expect(await attempts.offer(settlement("a"))).to.equal(false);
  });
});
