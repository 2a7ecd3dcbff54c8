/** The rate limiter on a real Redis: the Lua script agrees with the pure function, and batches are fair. */
import { createSocket } from "node:dgram";
import { expect } from "chai";
import { pino } from "pino";
import { createRateLimiter } from "../../../gateway/rate-limit/limiter.ts";
import { countDnsAddresses } from "../../../gateway/rate-limit/replica-count.ts";
import { openRedis, type Redis } from "../../../services/shared/io/redis.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { freshSubject } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

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

  it("grants exactly the bucket to concurrent requests", async () => {
    const limiter = createRateLimiter(redis, () => 1);
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
    const limiters = [createRateLimiter(redis, () => 2), createRateLimiter(redis, () => 2)];
    const tenant = freshSubject("shared");
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, at) => limiters[at % 2]?.take(tenant, 1, 30)),
    );
    const granted = decisions.filter((decision) => decision?.isAllowed === true);
    expect(granted.length).to.be.within(30, 31);
  });

  it("without Redis each gateway limits to its share, and follows a new replica count at once", async () => {
    const away = openRedis({ url: "redis://127.0.0.1:1", log: pino({ level: "silent" }) });
    let count = 2;
    const limiter = createRateLimiter(away, () => count);
    const granted = async () => {
      const tenant = freshSubject("away");
      const decisions = await Promise.all(
        Array.from({ length: 100 }, () => limiter.take(tenant, 1, 60)),
      );
      return decisions.filter(({ isAllowed }) => isAllowed).length;
    };
    expect(await granted()).to.equal(30);
    count = 12;
    expect(await granted()).to.equal(5);
    away.disconnect();
  });

  it("the replica count is the larger of the A and AAAA counts", async () => {
    const { signal } = new AbortController();
    const answers = (...addresses: string[]) => startDnsServer(() => addresses);
    for (const [server, count] of [
      [await answers("10.0.0.1", "10.0.0.2", "10.0.0.3"), 3],
      [await answers("fd00::1", "fd00::2"), 2],
      [await answers("10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"), 2],
      [await answers(), 0],
      [await startDnsServer(() => ["10.0.0.1"], true), 1],
    ] as const) {
      expect(await countDnsAddresses("gateway.example", signal, [server.address])).to.equal(count);
      await server.close();
    }
  });

  it("a silent name server times out, and its query is cancelled when the gateway closes", async () => {
    const silent = createSocket("udp4");
    await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
    const server = `127.0.0.1:${silent.address().port}`;
    const startMs = performance.now();
    const { signal } = new AbortController();
    const failed = await countDnsAddresses("gateway.example", signal, [server]).catch(
      (error) => error,
    );
    expect(failed).to.have.property("code", "ETIMEOUT");
    expect(performance.now() - startMs).to.be.below(10_000);

    const closing = new AbortController();
    const left = countDnsAddresses("gateway.example", closing.signal, [server]).catch(
      (error) => error,
    );
    closing.abort();
    expect(await left).to.have.property("code", "ECANCELLED");
    silent.close();
  });

  it("tokens refill at the rate", async () => {
    const limiter = createRateLimiter(redis, () => 1);
    const tenant = freshSubject("flow");
    expect((await limiter.take(tenant, 20, 1)).isAllowed).to.equal(true);
    const refused = await limiter.take(tenant, 20, 1);
    expect(refused.isAllowed).to.equal(false);
    expect(refused.retryAfterMs).to.be.within(1, 50);
    const startMs = performance.now();
    await eventually(async () => (await limiter.take(tenant, 20, 1)).isAllowed, { everyMs: 2 });
    expect(performance.now() - startMs).to.be.below(2000);
  });

  it("a full bucket expires in Redis", async () => {
    const limiter = createRateLimiter(redis, () => 1);
    const tenant = freshSubject("gone");
    await limiter.take(tenant, 100, 1);
    expect(await redis.pttl(`rate:{${tenant}}`)).to.be.within(1, 1100);
  });
});
