import { expect } from "chai";
import { createQueueLimits } from "../../../services/messaging/app/queue-limits.ts";
import type { PriorityClass } from "../../../services/messaging/domain/message.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { eventually } from "../../support/poll.ts";

const LIMIT = 3;

/** A queue that stores `stored` messages, counted `counts` times; its clock is at `nowMs`, or 0. */
type Queue = { stored: number; counts: number; isAway?: boolean; nowMs?: number };

/** Limits over a queue. */
function limitsOver(queue: Queue) {
  const store = {
    async countIn(_connectorId: string, _lane: PriorityClass, max: number) {
      queue.counts += 1;
      if (queue.isAway === true) throw new Error("the database is away");
      return Math.min(queue.stored, max);
    },
  };
  const clock = { now: () => queue.nowMs ?? 0 };
  return createQueueLimits(store, LIMIT, createLogger("test", "silent"), clock);
}

describe("a queue's limit", () => {
  it("refuses messages for a full queue with a retry delay", () => {
    const limits = limitsOver({ stored: LIMIT, counts: 0 });
    for (let at = 0; at < LIMIT; at += 1) {
      limits.checkRoom("alpha", "single");
      limits.add("alpha", "single");
    }
    expect(() => limits.checkRoom("alpha", "single"))
      .to.throw("The queue is full")
      .with.property("retryAfterMs", 5000);
    limits.checkRoom("beta", "single");
    limits.checkRoom("alpha", "bulk");
  });

  it("is lifted soon after the queue was drained, without waiting for the next round of counts", async () => {
    const queue = { stored: 0, counts: 0 };
    const limits = limitsOver(queue);
    for (let at = 0; at < LIMIT; at += 1) limits.add("alpha", "single");
    expect(() => limits.checkRoom("alpha", "single")).to.throw("The queue is full");
    await eventually(() => {
      limits.checkRoom("alpha", "single");
      return true;
    });
    expect(queue.counts).to.equal(1);
  });

  it("is counted once for many refusals: counting walks the queue", async () => {
    const queue = { stored: LIMIT, counts: 0, nowMs: 0 };
    const limits = limitsOver(queue);
    for (let at = 0; at < LIMIT; at += 1) limits.add("alpha", "single");
    const refuseMany = async () => {
      for (let at = 0; at < 1000; at += 1)
        expect(() => limits.checkRoom("alpha", "single")).to.throw();
      await new Promise((resolve) => setImmediate(resolve));
    };
    await refuseMany();
    queue.nowMs = 249;
    await refuseMany();
    expect(queue.counts).to.equal(1);
    queue.nowMs = 250;
    await refuseMany();
    expect(queue.counts).to.equal(2);
  });

  it("includes messages that arrive during a count", async () => {
    const queue = { stored: 0, counts: 0 };
    const limits = limitsOver(queue);
    limits.add("alpha", "single");
    const counting = limits.recount();
    for (let at = 0; at < LIMIT; at += 1) limits.add("alpha", "single");
    await counting;
    expect(() => limits.checkRoom("alpha", "single")).to.throw("The queue is full");
  });

  it("holds while the database cannot be asked", async () => {
    const queue = { stored: 0, counts: 0, isAway: true };
    const limits = limitsOver(queue);
    for (let at = 0; at < LIMIT; at += 1) limits.add("alpha", "single");
    expect(() => limits.checkRoom("alpha", "single")).to.throw("The queue is full");
    await eventually(() => queue.counts === 1);
    expect(() => limits.checkRoom("alpha", "single")).to.throw("The queue is full");
  });
});
