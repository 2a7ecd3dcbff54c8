/** A connector's pacer while Redis goes away and comes back: the rate is the rate all the same. */
import { expect } from "chai";
import { acquirePermits, EMPTY_LINE } from "../../../services/carrier/domain/rate-schedule.ts";
import { createPacer } from "../../../services/carrier/store/rate-limiter.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import type { Redis } from "../../../services/shared/io/redis.ts";
import { busiestSecond } from "../../support/busiest-second.ts";

/** What happens to Redis, in milliseconds from the beginning. */
type Fate = {
  readonly isAway?: (atMs: number) => boolean;
  /** It forgets everything at this instant. */
  readonly emptyAtMs?: number;
  readonly replicas?: number;
};

describe("a connector's pacer", () => {
  const between = (fromMs: number, untilMs: number) => (atMs: number) =>
    atMs >= fromMs && atMs < untilMs;

  for (const rate of [1, 10, 100, 1000]) {
    it(`${rate}/s: no second holds more when Redis goes away for four seconds and comes back`, async () => {
      for (const shiftMs of [0, 50, 333, 701]) {
        const fate = { isAway: between(3000 + shiftMs, 7000 + 2 * shiftMs) };
        const sent = await run(rate, 12, fate);
        expect(busiestSecond(sent)).to.be.at.most(rate);
        expect(sent.length).to.be.at.least(Math.floor(rate * 12 * 0.96));
        const empty = await run(rate, 12, { ...fate, emptyAtMs: 5000 });
        expect(busiestSecond(empty)).to.be.at.most(rate);
      }
    });

    it(`${rate}/s: no second holds more when Redis restarts empty`, async () => {
      for (const atMs of [3000, 3050, 3333, 3701]) {
        const fate = { isAway: between(atMs, atMs + 300), emptyAtMs: atMs };
        const sent = await run(rate, 8, fate);
        expect(busiestSecond(sent)).to.be.at.most(rate);
        expect(sent.length).to.be.at.least(Math.floor(rate * 8 * 0.96));
      }
    });

    it(`${rate}/s: while Redis stays, nearly all of it is used`, async () => {
      const sent = await run(rate, 20, {});
      expect(busiestSecond(sent)).to.be.at.most(rate);
      expect(sent.length).to.be.at.least(Math.floor(rate * 20 * 0.97));
    });
  }

  it("alone, a replica keeps to its share, also of the second in which Redis went away", async () => {
    const sent = await run(100, 6, { isAway: between(3000, 6000), replicas: 4 });
    expect(busiestSecond(sent.filter((atMs) => atMs >= 3000))).to.be.within(20, 25);
    // It had used the whole rate until then, so it waits until that is a second ago.
    expect(busiestSecond(sent)).to.be.at.most(100);
  });
});

/** Asks as the dispatcher does, with a clock of its own; answers when what was granted was used. */
async function run(rate: number, seconds: number, fate: Fate): Promise<number[]> {
  const startMs = 1_000_000;
  let nowMs = startMs;
  const sent: number[] = [];
  const pacer = createPacer({
    redis: redisOf(() => nowMs, startMs, fate),
    key: "test",
    ratePerSecond: rate,
    replicas: () => fate.replicas ?? 1,
    log: createLogger("test", "silent"),
    nowMs: () => nowMs,
  });
  for (let turn = 0; nowMs < startMs + seconds * 1000; turn++) {
    const { count, waitMs } = await pacer.ask(rate);
    for (let n = 0; n < count; n++) sent.push(nowMs - startMs);
    nowMs += Math.max(5, Math.ceil(waitMs)) + ((turn * 7919) % 10);
  }
  return sent;
}

/** Redis as the pacer asks it: the script decides as `takePlaces` does. */
function redisOf(now: () => number, startMs: number, fate: Fate): Redis {
  let line = EMPTY_LINE;
  let isEmptied = false;
  const redis = {
    async eval(_script: string, _keys: number, ...rest: (string | number)[]) {
      const atMs = now() - startMs;
      if (fate.isAway?.(atMs) === true) throw new Error("Redis is away");
      if (!isEmptied && fate.emptyAtMs !== undefined && atMs >= fate.emptyAtMs) {
        line = EMPTY_LINE;
        isEmptied = true;
      }
      const [intervalUs, , , most, wanted] = rest.slice(2).map(Number) as [number, ...number[]];
      const rate = { intervalUs, most: most as number };
      const taken = acquirePermits(line, now() * 1000, rate, wanted as number);
      line = taken.line;
      return [taken.grant.count, Math.floor(taken.grant.waitMs * 1000)];
    },
  };
  return redis as unknown as Redis;
}
