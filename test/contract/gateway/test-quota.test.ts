/** Conformance suite of the quota of test messages, run in memory and on Redis. */
import { expect } from "chai";
import { createTestQuota, type TestQuota } from "../../../gateway/rate-limit/test-quota.ts";
import { freshSubject } from "../../support/fresh-names.ts";
import { createMemoryTestQuota } from "../../support/memory-test-quota.ts";
import { openAwayRedis, useRedis } from "../../support/redis.ts";

const HOUR_MS = 3_600_000;
/** 22:00 UTC. */
const EVENING_MS = Date.UTC(2026, 10, 2, 22);

const redis = useRedis();
let nowMs = EVENING_MS;
const clock = { now: () => nowMs };

beforeEach(() => {
  nowMs = EVENING_MS;
});

for (const [place, open] of [
  ["in memory", (perDay: number) => createMemoryTestQuota(perDay, clock.now)],
  ["on Redis", (perDay: number) => createTestQuota(redis(), perDay, clock)],
] as const) {
  describe(`the quota of test messages ${place}`, () => {
    let quota: TestQuota;
    let tenant: string;
    beforeEach(() => {
      quota = open(100);
      tenant = freshSubject("tenant");
    });

    it("takes all messages of a send or none, and says when the next day begins", async () => {
      expect(await quota.take(tenant, 60)).to.equal(0);
      expect(await quota.take(tenant, 41)).to.equal(2 * HOUR_MS);
      expect(await quota.take(tenant, 40)).to.equal(0);
      expect(await quota.take(tenant, 1)).to.equal(2 * HOUR_MS);
    });

    it("grants exactly the quota to concurrent sends", async () => {
      const waits = await Promise.all(Array.from({ length: 150 }, () => quota.take(tenant, 1)));
      expect(waits.filter((wait) => wait === 0)).to.have.length(100);
    });

    it("begins again on the next day (UTC)", async () => {
      await quota.take(tenant, 100);
      nowMs += 2 * HOUR_MS;
      expect(await quota.take(tenant, 100)).to.equal(0);
    });

    it("takes messages back, and never below none", async () => {
      await quota.take(tenant, 100);
      await quota.refund(tenant, 30);
      expect(await quota.take(tenant, 31)).to.be.above(0);
      expect(await quota.take(tenant, 30)).to.equal(0);
      await quota.refund(tenant, 1000);
      expect(await quota.take(tenant, 101)).to.be.above(0);
    });

    it("keeps tenants apart", async () => {
      await quota.take(tenant, 100);
      expect(await quota.take(freshSubject("tenant"), 100)).to.equal(0);
    });
  });
}

describe("the quota of test messages and Redis", () => {
  it("allows everything while Redis is away", async () => {
    const away = openAwayRedis();
    const quota = createTestQuota(away, 0, clock);
    expect(await quota.take("tenant", 1)).to.equal(0);
    await quota.refund("tenant", 1);
    away.disconnect();
  });

  it("leaves no count in Redis after the day", async () => {
    const tenant = freshSubject("tenant");
    const quota = createTestQuota(redis(), 10, clock);
    await quota.take(tenant, 5);
    await quota.refund(tenant, 1);
    const key = `test-quota:${tenant}:${Math.floor(nowMs / (24 * HOUR_MS))}`;
    expect(await redis().pttl(key)).to.be.within(1, 24 * HOUR_MS);
  });
});
