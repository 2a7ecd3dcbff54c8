/** The limiter on a real Redis: the Lua script and its pure twin agree, and batches are fair. */
import { expect } from "chai";
import { pino } from "pino";
import { createRateLimiter } from "../../gateway/rate-limit/limiter.ts";
import { openRedis, type Redis } from "../../services/shared/io/redis.ts";
import { freshSubject } from "../support/fresh-names.ts";
import { eventually } from "../support/poll.ts";
import { startServers, type TestServers } from "../support/servers.ts";

describe("the rate limiter on Redis", function () {
  this.timeout(30_000);
  let servers: TestServers;
  let redis: Redis;

  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    redis = openRedis({ url: servers.redisUrl, log: pino({ level: "silent" }) });
    await eventually(() => redis.status === "ready");
  });
  after(async () => {
    redis?.disconnect();
    await servers?.stop();
  });

  it("grants exactly the bucket to requests that come all at once", async () => {
    const limiter = createRateLimiter(redis, 1);
    const tenant = freshSubject("limit");
    const decisions = await Promise.all(
      Array.from({ length: 500 }, () => limiter.take(tenant, 1, 200)),
    );
    const granted = decisions.filter(({ isAllowed }) => isAllowed);
    expect(granted.length).to.be.within(200, 201);
    expect(granted[0]?.remaining).to.equal(199);
    expect(granted.at(-1)?.remaining).to.equal(0);
    const falls = granted.map(({ remaining }) => remaining);
    expect([...falls].sort((a, b) => b - a)).to.deep.equal(falls);
    for (const { isAllowed, remaining, retryAfterMs } of decisions) {
      if (!isAllowed) expect([remaining, retryAfterMs > 0]).to.deep.equal([0, true]);
    }
  });

  it("two gateways share one bucket", async () => {
    const limiters = [createRateLimiter(redis, 2), createRateLimiter(redis, 2)];
    const tenant = freshSubject("shared");
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, at) => limiters[at % 2]?.take(tenant, 1, 30)),
    );
    const granted = decisions.filter((decision) => decision?.isAllowed === true);
    expect(granted.length).to.be.within(30, 31);
  });

  it("tokens flow back at the rate", async () => {
    const limiter = createRateLimiter(redis, 1);
    const tenant = freshSubject("flow");
    expect((await limiter.take(tenant, 20, 1)).isAllowed).to.equal(true);
    const refused = await limiter.take(tenant, 20, 1);
    expect(refused.isAllowed).to.equal(false);
    expect(refused.retryAfterMs).to.be.within(1, 50);
    const startMs = performance.now();
    await eventually(async () => (await limiter.take(tenant, 20, 1)).isAllowed, { everyMs: 2 });
    expect(performance.now() - startMs).to.be.below(2000);
  });

  it("a bucket that is full again leaves nothing behind in Redis", async () => {
    const limiter = createRateLimiter(redis, 1);
    const tenant = freshSubject("gone");
    await limiter.take(tenant, 100, 1);
    expect(await redis.pttl(`rate:{${tenant}}`)).to.be.within(1, 1100);
  });
});
