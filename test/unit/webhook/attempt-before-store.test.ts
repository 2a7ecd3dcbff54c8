import { expect } from "chai";
import {
  createAttemptsBeforeStore,
  type MonotonicTime,
} from "../../../services/webhook/app/attempt-before-store.ts";
import type { AttemptResult } from "../../../services/webhook/app/ports.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";

const LEASE = "lease-1";

/** Longer than the timeout of a test: a test that waits for a whole limit fails. */
const LONG = { quietMs: 600_000, limitMs: 600_000 };

/** A clock that only waits advance; `respond` runs every `everyMs` of it. */
function manualTime(everyMs: number, respond: () => void): MonotonicTime {
  let nowMs = 0;
  return {
    now: () => nowMs,
    async answerWithin(_work, ms) {
      for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 1) {
        if (nowMs % everyMs === 0) respond();
      }
      return undefined;
    },
  };
}

const delivery = (id: string, endpointId = "e") => ({ id, endpointId });

function resultOf(id: string, leaseId = LEASE, endpointId = "e"): AttemptResult {
  const claimed = { id, leaseId, endpointId } as Claimed;
  return { claimed, attempt: undefined, next: { status: "succeeded" }, atMs: 1 };
}

describe("attempts before their delivery is stored", () => {
  it("returns as soon as all results have arrived", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of ["a", "b"]) attempts.begin(delivery(id), LEASE);
    const results = attempts.results(["a", "b"], LONG);
    expect(await attempts.offer(resultOf("a"))).to.equal(true);
    expect(await attempts.offer(resultOf("b"))).to.equal(true);
    expect([...(await results).keys()]).to.deep.equal(["a", "b"]);
  });

  it("returns results that arrived before the call", async () => {
    const attempts = createAttemptsBeforeStore();
    attempts.begin(delivery("a"), LEASE);
    await attempts.offer(resultOf("a"));
    expect((await attempts.results(["a"], LONG)).get("a")?.next.status).to.equal("succeeded");
  });

  const MANY = Array.from({ length: 40 }, (_, at) => `d${at}`);

  it("waits for many results while their endpoint responds, but not for the last few", async () => {
    const [hanging, ...others] = MANY;
    const time = manualTime(20, () => {
      void attempts.offer(resultOf(others.shift() ?? "another", LEASE, "busy"));
    });
    const attempts = createAttemptsBeforeStore(time);
    for (const id of MANY) attempts.begin(delivery(id, "busy"), LEASE);
    const results = await attempts.results(MANY, { quietMs: 300, limitMs: 60_000 });
    expect(time.now(), "longer than quiet alone").to.be.above(400);
    expect(results.size).to.be.within(MANY.length - 8, MANY.length - 1);
    expect(results.has(hanging as string)).to.equal(false);
  });

  it("does not wait for an endpoint that hangs while other endpoints respond", async () => {
    const time = manualTime(5, () => void attempts.offer(resultOf("another", LEASE, "busy")));
    const attempts = createAttemptsBeforeStore(time);
    for (const id of MANY) attempts.begin(delivery(id, "hangs"), LEASE);
    expect((await attempts.results(MANY, { quietMs: 50, limitMs: 60_000 })).size).to.equal(0);
    expect(time.now()).to.be.within(50, 65);
  });

  it("does not wait for a busy endpoint beyond the limit", async () => {
    const time = manualTime(5, () => void attempts.offer(resultOf("another")));
    const attempts = createAttemptsBeforeStore(time);
    for (const id of MANY) attempts.begin(delivery(id), LEASE);
    expect((await attempts.results(MANY, { quietMs: 100, limitMs: 200 })).size).to.equal(0);
    expect(time.now()).to.be.within(200, 225);
  });

  it("rejects a late result only after its delivery is stored", async () => {
    const attempts = createAttemptsBeforeStore();
    for (const id of ["a", "b"]) attempts.begin(delivery(id), LEASE);
    await attempts.offer(resultOf("a"));
    const results = await attempts.results(["a", "b"], { quietMs: 10, limitMs: 10 });
    expect([...results.keys()]).to.deep.equal(["a"]);
    let isTaken: boolean | undefined;
    const late = attempts.offer(resultOf("b")).then((taken) => {
      isTaken = taken;
    });
    await new Promise(setImmediate);
    expect(isTaken).to.equal(undefined);
    attempts.finish(["a", "b"]);
    await late;
    expect(isTaken).to.equal(false);
  });

  it("reports running, finished and stored deliveries", async () => {
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

  it("rejects results of other deliveries, of other leases and of stored deliveries", async () => {
    const attempts = createAttemptsBeforeStore();
    attempts.begin(delivery("a"), LEASE);
    expect(await attempts.offer(resultOf("b"))).to.equal(false);
    expect(await attempts.offer(resultOf("a", "lease-2"))).to.equal(false);
    attempts.finish(["a"]);
    expect(await attempts.offer(resultOf("a"))).to.equal(false);
  });
});
