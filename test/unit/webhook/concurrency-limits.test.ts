import { expect } from "chai";
import fc from "fast-check";
import {
  createSlots,
  type SlotLimits,
} from "../../../services/webhook/domain/concurrency-limits.ts";

const LIMITS: SlotLimits = {
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

function takeAll(slots: ReturnType<typeof createSlots>, tenant: string, endpoint: string): number {
  let taken = 0;
  while (slots.take(tenant, endpoint)) taken += 1;
  return taken;
}

/** Answers that take their time until the endpoint's window is as wide as it may be. */
function widen(slots: ReturnType<typeof createSlots>, tenant: string, endpoint: string): void {
  for (let count = 0; count < 20; count += 1) {
    const taken = takeAll(slots, tenant, endpoint);
    for (let at = 0; at < taken; at += 1) slots.release(tenant, endpoint, { durationMs: 100 });
  }
}

describe("slots", () => {
  it("an unknown endpoint gets one, then a few, and no more after answers that come at once", () => {
    const slots = createSlots(LIMITS);
    expect(takeAll(slots, "t", "e")).to.equal(1);
    slots.release("t", "e", { durationMs: 5 });
    expect(takeAll(slots, "t", "e")).to.equal(2);
    for (let count = 0; count < 20; count += 1) {
      slots.release("t", "e", { durationMs: 5 });
      expect(takeAll(slots, "t", "e")).to.equal(1);
    }
    expect(slots.inUse.all).to.equal(2);
  });

  it("a window grows by one with each answer that took its time, up to the cap, while it is full", () => {
    const slots = createSlots(LIMITS);
    widen(slots, "t", "e");
    expect(takeAll(slots, "t", "e")).to.equal(8);
    const idle = createSlots(LIMITS);
    for (let count = 0; count < 20; count += 1) {
      idle.take("t", "e");
      idle.release("t", "e", { durationMs: 100 });
    }
    expect(takeAll(idle, "t", "e")).to.equal(2);
  });

  it("a window grows while what waits would take longer than a tenth of a second, however quick the answers", () => {
    const slots = createSlots(LIMITS);
    slots.take("t", "e");
    slots.release("t", "e", { durationMs: 5 });
    const releaseAll = (count: number) => {
      for (let at = 0; at < count; at += 1) slots.release("t", "e", { durationMs: 10 });
    };
    const windowAfter = (waiting: number) => {
      const taken = takeAll(slots, "t", "e");
      slots.release("t", "e", { durationMs: 10, waiting });
      releaseAll(taken - 1);
      const window = takeAll(slots, "t", "e");
      releaseAll(window);
      return window;
    };
    // 20 × 10 ms over 2 slots are a tenth of a second, and no more.
    expect(windowAfter(20)).to.equal(2);
    expect(windowAfter(21)).to.equal(3);
    expect(windowAfter(30)).to.equal(3);
    for (let count = 0; count < 20; count += 1) windowAfter(1000);
    expect(windowAfter(1000)).to.equal(8);
  });

  it("fresh endpoints together take a small part, so a start does not open everything at once", () => {
    const slots = createSlots(LIMITS);
    let taken = 0;
    for (let at = 0; at < 100; at += 1) taken += takeAll(slots, `t${at}`, `fresh${at}`);
    expect(taken).to.equal(16);
  });

  it("slow endpoints alone never take more than their part", () => {
    const slots = createSlots(LIMITS);
    for (let at = 0; at < 100; at += 1) {
      slots.markSlow(`hung${at}`);
      takeAll(slots, `t${at}`, `hung${at}`);
    }
    expect(slots.inUse).to.include({ all: 20, slow: 20 });
    expect(takeAll(slots, "new", "e")).to.equal(1);
  });

  it("a slow endpoint gets two more for each answer that is kept waiting, up to the cap", () => {
    const slots = createSlots({
      ...LIMITS,
      perEndpoint: 20,
      perTenant: 40,
      slowPerTenant: 40,
      slowWindow: 3,
    });
    slots.recall("hung", 5000);
    expect(takeAll(slots, "t", "hung")).to.equal(3);
    for (let count = 0; count < 3; count += 1) slots.markSlow("hung");
    expect(takeAll(slots, "t", "hung")).to.equal(6);
    for (let count = 0; count < 6; count += 1) slots.markSlow("hung");
    expect(takeAll(slots, "t", "hung")).to.equal(11);
    for (let count = 0; count < 20; count += 1)
      slots.release("t", "hung", { durationMs: 5000, wasOverdue: count < 9 });
    expect(takeAll(slots, "t", "hung")).to.equal(3);
  });

  it("an endpoint that let an attempt run into its timeout has all it may hold, also after a restart", () => {
    const limits = { ...LIMITS, perEndpoint: 20, perTenant: 40, slowPerTenant: 40, slowWindow: 3 };
    const before = createSlots(limits);
    before.take("t", "hung");
    before.release("t", "hung", { durationMs: 10_000 });
    expect(takeAll(before, "t", "hung")).to.equal(20);
    const after = createSlots(limits);
    after.recall("hung", 10_000);
    expect(takeAll(after, "t", "hung")).to.equal(20);
    for (let count = 0; count < 20; count += 1) after.release("t", "hung", { durationMs: 10 });
    expect(takeAll(after, "t", "hung")).to.equal(2);
  });

  it("one tenant's endpoints share the tenant's cap", () => {
    const slots = createSlots(LIMITS);
    for (const endpoint of ["a", "b", "c"]) widen(slots, "t", endpoint);
    expect(["a", "b", "c"].map((endpoint) => takeAll(slots, "t", endpoint))).to.deep.equal([
      8, 4, 0,
    ]);
    expect(takeAll(slots, "u", "d")).to.equal(1);
  });

  it("a tenant's endpoints that hang leave a part of its slots to those that answer", () => {
    const slots = createSlots(LIMITS);
    widen(slots, "t", "quick");
    for (const endpoint of ["hung1", "hung2"]) {
      slots.markSlow(endpoint);
      takeAll(slots, "t", endpoint);
    }
    expect(slots.inUse).to.deep.equal({ all: 10, slow: 10, fast: 0 });
    expect(takeAll(slots, "t", "quick")).to.equal(2);
    expect(takeAll(slots, "t", "hung2")).to.equal(0);
  });

  it("however many endpoints hang, those that answer keep their part", () => {
    const slots = createSlots(LIMITS);
    widen(slots, "healthy", "known");
    for (let at = 0; at < 100; at += 1) {
      slots.take(`t${at}`, `hung${at}`);
      slots.markSlow(`hung${at}`);
      takeAll(slots, `t${at}`, `hung${at}`);
    }
    expect(slots.inUse.all).to.equal(30);
    expect(takeAll(slots, "healthy", "known")).to.equal(8);
  });

  it("a fast answer makes a slow endpoint fast again", () => {
    const slots = createSlots(LIMITS);
    slots.take("t", "e");
    slots.release("t", "e", { durationMs: 5000 });
    expect(slots.isSlow("e")).to.equal(true);
    slots.take("t", "e");
    slots.release("t", "e", { durationMs: 5 });
    expect(slots.isSlow("e")).to.equal(false);
    expect(slots.inUse).to.deep.equal({ all: 0, slow: 0, fast: 0 });
  });

  it("one slow answer among many takes neither what is under way nor what comes next its place", () => {
    const slots = createSlots(LIMITS);
    widen(slots, "t", "e");
    expect(takeAll(slots, "t", "e")).to.equal(8);
    // It is awaited for a second, and beside it others end.
    slots.markSlow("e");
    slots.release("t", "e", { durationMs: 700 });
    expect(takeAll(slots, "t", "e")).to.equal(1);
    slots.release("t", "e", { durationMs: 1200, wasOverdue: true });
    expect(takeAll(slots, "t", "e")).to.equal(1);
    slots.release("t", "e", { durationMs: 700 });
    expect(takeAll(slots, "t", "e")).to.equal(1);
    expect(slots.inUse.all).to.equal(8);
  });

  it("a quick endpoint stays quick until an answer takes much longer", () => {
    const slots = createSlots(LIMITS);
    const after = (ms: number) => {
      slots.take("t", "e");
      slots.release("t", "e", { durationMs: ms });
      return slots.isQuick("e");
    };
    const answers = [200, 100, 200, 250, 251, 200, 5, 2000, 0, 5, 0];
    const quick = [false, true, true, true, false, false, true, false, false, true, false];
    expect(answers.map(after)).to.deep.equal(quick);
  });

  it("an endpoint known to have hung before a restart is slow from the start", () => {
    const slots = createSlots(LIMITS);
    slots.recall("hung", 5000);
    expect(takeAll(slots, "t", "hung")).to.equal(8);
    slots.recall("quick", 5);
    expect(takeAll(slots, "u", "quick")).to.equal(1);
    slots.release("u", "quick", { durationMs: 5 });
    slots.recall("quick", 5000);
    expect(slots.isSlow("quick")).to.equal(false);
  });

  it("counts what is held, whatever the order of takes, marks and releases", () => {
    const step = fc.record({
      kind: fc.constantFrom("take", "release", "slow"),
      endpoint: fc.integer({ min: 0, max: 5 }),
      durationMs: fc.constantFrom(5, 5000),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const slots = createSlots(LIMITS);
        const held = [0, 0, 0, 0, 0, 0];
        for (const { kind, endpoint, durationMs } of steps) {
          const tenant = `t${endpoint % 3}`;
          const id = `e${endpoint}`;
          const now = held[endpoint] ?? 0;
          if (kind === "take" && slots.take(tenant, id)) held[endpoint] = now + 1;
          if (kind === "release" && now > 0) {
            slots.release(tenant, id, { durationMs });
            held[endpoint] = now - 1;
          }
          if (kind === "slow") slots.markSlow(id);
          const slow = held.reduce((sum, n, at) => sum + (slots.isSlow(`e${at}`) ? n : 0), 0);
          expect(slots.inUse).to.include({ all: held.reduce((a, b) => a + b, 0), slow });
        }
      }),
    );
  });
});
