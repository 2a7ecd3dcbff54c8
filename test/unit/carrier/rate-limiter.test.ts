/** The rate limiter of a connector while Redis is unavailable and when it returns: the rate holds. */
import { expect } from "chai";
import {
  acquirePermits,
  EMPTY_RATE_STATE,
} from "../../../services/carrier/domain/rate-schedule.ts";
import { createRateLimiter } from "../../../services/carrier/store/rate-limiter.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import type { Redis } from "../../../services/shared/io/redis.ts";
import { busiestSecond } from "../../support/busiest-second.ts";

/** The faults of Redis, in milliseconds from the start. */
type Faults = {
  readonly isAway?: (atMs: number) => boolean;
  /** It loses all data at this instant. */
  readonly emptyAtMs?: number;
  readonly replicas?: number;
};

describe("a connector's rate limiter", () => {
  const between = (fromMs: number, untilMs: number) => (atMs: number) =>
    atMs >= fromMs && atMs < untilMs;

  for (const rate of [1, 10, 100, 1000]) {
    it(`${rate}/s: no second exceeds the rate when Redis is unavailable for four seconds`, async () => {
      for (const shiftMs of [0, 50, 333, 701]) {
        const faults = { isAway: between(3000 + shiftMs, 7000 + 2 * shiftMs) };
        const sent = await run(rate, 12, faults);
        expect(busiestSecond(sent)).to.be.at.most(rate);
        expect(sent.length).to.be.at.least(Math.floor(rate * 12 * 0.96));
        const empty = await run(rate, 12, { ...faults, emptyAtMs: 5000 });
        expect(busiestSecond(empty)).to.be.at.most(rate);
      }
    });

    it(`${rate}/s: no second exceeds the rate when Redis restarts empty`, async () => {
      for (const atMs of [3000, 3050, 3333, 3701]) {
        const faults = { isAway: between(atMs, atMs + 300), emptyAtMs: atMs };
        const sent = await run(rate, 8, faults);
        expect(busiestSecond(sent)).to.be.at.most(rate);
        expect(sent.length).to.be.at.least(Math.floor(rate * 8 * 0.96));
      }
    });

    it(`${rate}/s: while Redis is available, at least 97 % of the rate is used`, async () => {
      const sent = await run(rate, 20, {});
      expect(busiestSecond(sent)).to.be.at.most(rate);
      expect(sent.length).to.be.at.least(Math.floor(rate * 20 * 0.97));
    });
  }

  it("without Redis a replica limits itself to its share, also in the second of the failure", async () => {
    const sent = await run(100, 6, { isAway: between(3000, 6000), replicas: 4 });
    expect(busiestSecond(sent.filter((atMs) => atMs >= 3000))).to.be.within(20, 25);
    // It had used the whole rate before, so it waits until that is a second ago.
    expect(busiestSecond(sent)).to.be.at.most(100);
  });
});

/** Acquires permits as the dispatcher does, with a clock of its own; returns the times of the submits. */
async function run(rate: number, seconds: number, faults: Faults): Promise<number[]> {
  const startMs = 1_000_000;
  let nowMs = startMs;
  const sent: number[] = [];
  const rateLimiter = createRateLimiter({
    redis: redisOf(() => nowMs, startMs, faults),
    key: "test",
    ratePerSecond: rate,
    replicas: () => faults.replicas ?? 1,
    log: createLogger("test", "silent"),
    nowMs: () => nowMs,
  });
  for (let round = 0; nowMs < startMs + seconds * 1000; round++) {
    const { count, waitMs } = await rateLimiter.acquire(rate);
    for (let n = 0; n < count; n++) sent.push(nowMs - startMs);
    nowMs += Math.max(5, Math.ceil(waitMs)) + ((round * 7919) % 10);
  }
  return sent;
}

/** Redis as the rate limiter calls it: the script decides as `acquirePermits` does. */
function redisOf(now: () => number, startMs: number, faults: Faults): Redis {
  let state = EMPTY_RATE_STATE;
  let isEmptied = false;
  const redis = {
    async eval(_script: string, _keys: number, ...rest: (string | number)[]) {
      const atMs = now() - startMs;
      if (faults.isAway?.(atMs) === true) throw new Error("Redis is away");
      if (!isEmptied && faults.emptyAtMs !== undefined && atMs >= faults.emptyAtMs) {
        state = EMPTY_RATE_STATE;
        isEmptied = true;
      }
      const [intervalUs, , , most, wanted] = rest.slice(2).map(Number) as [number, ...number[]];
      const rate = { intervalUs, most: most as number };
      const taken = acquirePermits(state, now() * 1000, rate, wanted as number);
      state = taken.state;
      return [taken.grant.count, Math.floor(taken.grant.waitMs * 1000)];
    },
  };
  return redis as unknown as Redis;
}
