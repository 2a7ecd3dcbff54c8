/** Conformance suite of the rate limiter: the shared bucket on Redis, and the local one without Redis. */
import { expect } from "chai";
import { createRateLimiter, type RateLimiter } from "../../../gateway/rate-limit/limiter.ts";
import type { Redis } from "../../../services/shared/io/redis.ts";
import { freshSubject } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { openAwayRedis, useRedis } from "../../support/redis.ts";

const redis = useRedis();

/** One token in 100 s, which is longer than a test: buckets do not refill. */
const RATE = 0.01;

for (const [place, isAway] of [
  ["on Redis", false],
  ["without Redis", true],
] as const) {
  describe(`a rate limiter ${place}`, () => {
    let connection: Redis;
    let limiter: RateLimiter;
    before(() => {
      connection = isAway ? openAwayRedis() : redis();
      limiter = createRateLimiter(connection, () => 1);
    });
    after(() => {
      if (isAway) connection.disconnect();
    });

    /** Decisions on requests of these costs that arrive together. */
    const take = (tenant: string, burst: number, costs: readonly number[], rate = RATE) =>
      Promise.all(costs.map((cost) => limiter.take(tenant, { rate, burst, cost })));
    const ones = (count: number) => Array.from({ length: count }, () => 1);

    it("grants exactly the bucket to concurrent requests, in order", async () => {
      const decisions = await take(freshSubject("limit"), 200, ones(500));
      const granted = decisions.filter(({ isAllowed }) => isAllowed);
      expect(granted.length).to.equal(200);
      expect(granted[0]?.remaining).to.equal(199);
      expect(granted.at(-1)?.remaining).to.equal(0);
      const falls = granted.map(({ remaining }) => remaining);
      expect([...falls].sort((a, b) => b - a)).to.deep.equal(falls);
      for (const { isAllowed, remaining, retryAfterMs } of decisions) {
        if (!isAllowed) expect([remaining, retryAfterMs > 0]).to.deep.equal([0, true]);
      }
    });

    it("takes the whole cost of a request or nothing, and reports what is left", async () => {
      const decisions = await take(freshSubject("cost"), 100, [1, 60, 60, 1, 38, 1]);
      expect(decisions.map(({ isAllowed }) => isAllowed)).to.deep.equal([
        true,
        true,
        false,
        true,
        true,
        false,
      ]);
      expect(decisions.map(({ remaining }) => remaining)).to.deep.equal([99, 39, 39, 38, 0, 0]);
    });

    it("returns the time at which a costly request would be allowed", async () => {
      const tenant = freshSubject("wait");
      const startMs = performance.now();
      await take(tenant, 10, [10], 2);
      const [refused] = await take(tenant, 10, [8], 2);
      // Eight tokens take 4 s, less the time since the first request.
      const passedMs = performance.now() - startMs;
      expect(refused?.retryAfterMs).to.be.within(3995 - passedMs, 4000);
    });

    it("keeps tenants apart", async () => {
      await take(freshSubject("one"), 1, [1, 1]);
      const [other] = await take(freshSubject("other"), 1, [1]);
      expect(other?.isAllowed).to.equal(true);
    });

    it("refills at the rate", async () => {
      const tenant = freshSubject("flow");
      const startMs = performance.now();
      const [first, second] = await take(tenant, 1, [1, 1], 2);
      expect([first?.isAllowed, second?.isAllowed]).to.deep.equal([true, false]);
      expect(second?.retryAfterMs).to.be.within(1, 500);
      await eventually(async () => (await take(tenant, 1, [1], 2))[0]?.isAllowed);
      // Both clocks are read in whole milliseconds at best.
      expect(performance.now() - startMs).to.be.at.least(490);
    });
  });
}

describe("rate limiters of several gateways", () => {
  it("share one bucket on Redis", async () => {
    const limiters = [createRateLimiter(redis(), () => 2), createRateLimiter(redis(), () => 2)];
    const tenant = freshSubject("shared");
    const one = { rate: RATE, burst: 30, cost: 1 };
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, at) => limiters[at % 2]?.take(tenant, one)),
    );
    const granted = decisions.filter((decision) => decision?.isAllowed === true);
    expect(granted.length).to.equal(30);
  });

  it("limit to their share without Redis, and follow a new replica count at once", async () => {
    const away = openAwayRedis();
    let count = 2;
    const limiter = createRateLimiter(away, () => count);
    const granted = async (cost: number) => {
      const tenant = freshSubject("away");
      const decisions = await Promise.all(
        Array.from({ length: 100 }, () => limiter.take(tenant, { rate: RATE, burst: 60, cost })),
      );
      return decisions.filter(({ isAllowed }) => isAllowed).length;
    };
    expect(await granted(1)).to.equal(30);
    count = 12;
    expect(await granted(1)).to.equal(5);
    // The cost is more than the share of 5 tokens, but not more than the burst.
    expect(await granted(32)).to.equal(1);
    away.disconnect();
  });

  it("leave no full bucket in Redis", async () => {
    const limiter = createRateLimiter(redis(), () => 1);
    const tenant = freshSubject("gone");
    await limiter.take(tenant, { rate: 100, burst: 1, cost: 1 });
    expect(await redis().pttl(`rate:{${tenant}}`)).to.be.within(1, 1100);
  });
});
