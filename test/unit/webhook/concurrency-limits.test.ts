import { expect } from "chai";
import fc from "fast-check";
import {
  type ConcurrencyLimits,
  createConcurrencyLimiter,
} from "../../../services/webhook/domain/concurrency-limits.ts";

const LIMITS: ConcurrencyLimits = {
  perEndpoint: 8,
  perTenant: 12,
  slowPerTenant: 10,
  total: 40,
  slowTotal: 20,
  unprovenTotal: 30,
  freshTotal: 16,
  freshWindow: 1,
  window: 2,
  slowWindow: 8,
  hangMs: 10_000,
};

function takeAll(
  limiter: ReturnType<typeof createConcurrencyLimiter>,
  tenant: string,
  endpoint: string,
): number {
  let taken = 0;
  while (limiter.acquire(tenant, endpoint)) taken += 1;
  return taken;
}

/** Slow enough responses to widen the window of an endpoint to its limit. */
function widen(
  limiter: ReturnType<typeof createConcurrencyLimiter>,
  tenant: string,
  endpoint: string,
): void {
  for (let count = 0; count < 20; count += 1) {
    const taken = takeAll(limiter, tenant, endpoint);
    for (let at = 0; at < taken; at += 1) limiter.release(tenant, endpoint, { durationMs: 100 });
  }
}

describe("concurrency limits of webhooks", () => {
  it("give a fresh endpoint one permit, then two, and no more after fast responses", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    expect(takeAll(limiter, "t", "e")).to.equal(1);
    limiter.release("t", "e", { durationMs: 5 });
    expect(takeAll(limiter, "t", "e")).to.equal(2);
    for (let count = 0; count < 20; count += 1) {
      limiter.release("t", "e", { durationMs: 5 });
      expect(takeAll(limiter, "t", "e")).to.equal(1);
    }
    expect(limiter.inUse.all).to.equal(2);
  });

  it("widen a full window by one with each response that took its time, up to the limit", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    widen(limiter, "t", "e");
    expect(takeAll(limiter, "t", "e")).to.equal(8);
    const idle = createConcurrencyLimiter(LIMITS);
    for (let count = 0; count < 20; count += 1) {
      idle.acquire("t", "e");
      idle.release("t", "e", { durationMs: 100 });
    }
    expect(takeAll(idle, "t", "e")).to.equal(2);
  });

  it("widen a window while waiting deliveries would take longer than 100 ms, however fast the responses", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    limiter.acquire("t", "e");
    limiter.release("t", "e", { durationMs: 5 });
    const releaseAll = (count: number) => {
      for (let at = 0; at < count; at += 1) limiter.release("t", "e", { durationMs: 10 });
    };
    const windowAfter = (waiting: number) => {
      const taken = takeAll(limiter, "t", "e");
      limiter.release("t", "e", { durationMs: 10, waiting });
      releaseAll(taken - 1);
      const window = takeAll(limiter, "t", "e");
      releaseAll(window);
      return window;
    };
    // 20 × 10 ms over 2 permits are 100 ms, the limit.
    expect(windowAfter(20)).to.equal(2);
    expect(windowAfter(21)).to.equal(3);
    expect(windowAfter(30)).to.equal(3);
    for (let count = 0; count < 20; count += 1) windowAfter(1000);
    expect(windowAfter(1000)).to.equal(8);
  });

  it("give fresh endpoints together a small part, so a start opens few connections at once", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    let taken = 0;
    for (let at = 0; at < 100; at += 1) taken += takeAll(limiter, `t${at}`, `fresh${at}`);
    expect(taken).to.equal(16);
  });

  it("give slow endpoints together no more than their part", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    for (let at = 0; at < 100; at += 1) {
      limiter.markSlow(`hung${at}`);
      takeAll(limiter, `t${at}`, `hung${at}`);
    }
    expect(limiter.inUse).to.include({ all: 20, slow: 20 });
    expect(takeAll(limiter, "new", "e")).to.equal(1);
  });

  it("give a slow endpoint two more permits for each waiting request, up to the limit", () => {
    const limiter = createConcurrencyLimiter({
      ...LIMITS,
      perEndpoint: 20,
      perTenant: 40,
      slowPerTenant: 40,
      slowWindow: 3,
    });
    limiter.seedLatency("hung", 5000);
    expect(takeAll(limiter, "t", "hung")).to.equal(3);
    for (let count = 0; count < 3; count += 1) limiter.markSlow("hung");
    expect(takeAll(limiter, "t", "hung")).to.equal(6);
    for (let count = 0; count < 6; count += 1) limiter.markSlow("hung");
    expect(takeAll(limiter, "t", "hung")).to.equal(11);
    for (let count = 0; count < 20; count += 1)
      limiter.release("t", "hung", { durationMs: 5000, wasOverdue: count < 9 });
    expect(takeAll(limiter, "t", "hung")).to.equal(3);
  });

  it("give an endpoint that timed out all its permits, also after a restart", () => {
    const limits = { ...LIMITS, perEndpoint: 20, perTenant: 40, slowPerTenant: 40, slowWindow: 3 };
    const before = createConcurrencyLimiter(limits);
    before.acquire("t", "hung");
    before.release("t", "hung", { durationMs: 10_000 });
    expect(takeAll(before, "t", "hung")).to.equal(20);
    const after = createConcurrencyLimiter(limits);
    after.seedLatency("hung", 10_000);
    expect(takeAll(after, "t", "hung")).to.equal(20);
    for (let count = 0; count < 20; count += 1) after.release("t", "hung", { durationMs: 10 });
    expect(takeAll(after, "t", "hung")).to.equal(2);
  });

  it("bound the endpoints of one tenant together", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    for (const endpoint of ["a", "b", "c"]) widen(limiter, "t", endpoint);
    expect(["a", "b", "c"].map((endpoint) => takeAll(limiter, "t", endpoint))).to.deep.equal([
      8, 4, 0,
    ]);
    expect(takeAll(limiter, "u", "d")).to.equal(1);
  });

  it("leave some of a tenant's permits to its fast endpoints when others hang", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    widen(limiter, "t", "quick");
    for (const endpoint of ["hung1", "hung2"]) {
      limiter.markSlow(endpoint);
      takeAll(limiter, "t", endpoint);
    }
    expect(limiter.inUse).to.deep.equal({ all: 10, slow: 10, fast: 0 });
    expect(takeAll(limiter, "t", "quick")).to.equal(2);
    expect(takeAll(limiter, "t", "hung2")).to.equal(0);
  });

  it("leave fast endpoints their part, however many endpoints hang", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    widen(limiter, "healthy", "known");
    for (let at = 0; at < 100; at += 1) {
      limiter.acquire(`t${at}`, `hung${at}`);
      limiter.markSlow(`hung${at}`);
      takeAll(limiter, `t${at}`, `hung${at}`);
    }
    expect(limiter.inUse.all).to.equal(30);
    expect(takeAll(limiter, "healthy", "known")).to.equal(8);
  });

  it("treat a slow endpoint as fast again after a fast response", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    limiter.acquire("t", "e");
    limiter.release("t", "e", { durationMs: 5000 });
    expect(limiter.isSlow("e")).to.equal(true);
    limiter.acquire("t", "e");
    limiter.release("t", "e", { durationMs: 5 });
    expect(limiter.isSlow("e")).to.equal(false);
    expect(limiter.inUse).to.deep.equal({ all: 0, slow: 0, fast: 0 });
  });

  it("keep a window after one slow response among many", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    widen(limiter, "t", "e");
    expect(takeAll(limiter, "t", "e")).to.equal(8);
    // One request waits for a second while others end.
    limiter.markSlow("e");
    limiter.release("t", "e", { durationMs: 700 });
    expect(takeAll(limiter, "t", "e")).to.equal(1);
    limiter.release("t", "e", { durationMs: 1200, wasOverdue: true });
    expect(takeAll(limiter, "t", "e")).to.equal(1);
    limiter.release("t", "e", { durationMs: 700 });
    expect(takeAll(limiter, "t", "e")).to.equal(1);
    expect(limiter.inUse.all).to.equal(8);
  });

  it("treat a quick endpoint as quick until a response takes much longer", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    const after = (ms: number) => {
      limiter.acquire("t", "e");
      limiter.release("t", "e", { durationMs: ms });
      return limiter.isQuick("e");
    };
    const durations = [200, 100, 200, 250, 251, 200, 5, 2000, 0, 5, 0];
    const quick = [false, true, true, true, false, false, true, false, false, true, false];
    expect(durations.map(after)).to.deep.equal(quick);
  });

  it("treat an endpoint that hung before a restart as slow from the start", () => {
    const limiter = createConcurrencyLimiter(LIMITS);
    limiter.seedLatency("hung", 5000);
    expect(takeAll(limiter, "t", "hung")).to.equal(8);
    limiter.seedLatency("quick", 5);
    expect(takeAll(limiter, "u", "quick")).to.equal(1);
    limiter.release("u", "quick", { durationMs: 5 });
    limiter.seedLatency("quick", 5000);
    expect(limiter.isSlow("quick")).to.equal(false);
  });

  it("count held permits in any order of acquire, mark and release", () => {
    const step = fc.record({
      kind: fc.constantFrom("take", "release", "slow"),
      endpoint: fc.integer({ min: 0, max: 5 }),
      durationMs: fc.constantFrom(5, 5000),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const limiter = createConcurrencyLimiter(LIMITS);
        const held = [0, 0, 0, 0, 0, 0];
        for (const { kind, endpoint, durationMs } of steps) {
          const tenant = `t${endpoint % 3}`;
          const id = `e${endpoint}`;
          const now = held[endpoint] ?? 0;
          if (kind === "take" && limiter.acquire(tenant, id)) held[endpoint] = now + 1;
          if (kind === "release" && now > 0) {
            limiter.release(tenant, id, { durationMs });
            held[endpoint] = now - 1;
          }
          if (kind === "slow") limiter.markSlow(id);
          const slow = held.reduce((sum, n, at) => sum + (limiter.isSlow(`e${at}`) ? n : 0), 0);
          expect(limiter.inUse).to.include({ all: held.reduce((a, b) => a + b, 0), slow });
        }
      }),
    );
  });
});
