/** Leases of binds, and the rate of a connector, with several carrier processes. */
import { expect } from "chai";
import type { ConnectorRunner } from "../../../services/carrier/app/connector.ts";
import { createSupervisor } from "../../../services/carrier/app/supervisor.ts";
import { migrate } from "../../../services/carrier/migrate.ts";
import { createBindLeases } from "../../../services/carrier/store/bind-leases.ts";
import { createRateLimiter } from "../../../services/carrier/store/rate-limiter.ts";
import { pause } from "../../../services/shared/flow/backoff.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { openRedis, type Redis } from "../../../services/shared/io/redis.ts";
import { busiestSecond } from "../../support/busiest-second.ts";
import { connectorConfig, fakeRunner } from "../../support/carrier-connectors.ts";
import { freshDatabase, freshSubject } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

describe("carrier processes side by side", () => {
  const log = createLogger("test", "silent");
  let servers: TestServers;
  let mongo: Mongo;
  let redis: Redis;

  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    mongo = await openMongo({
      uri: servers.mongodbUri,
      database: freshDatabase("carrier_leases"),
      log,
    });
    await migrate(mongo.db);
    redis = openRedis({ url: servers.redisUrl, log });
    await eventually(() => redis.status === "ready");
  });

  after(async () => {
    redis?.disconnect();
    await mongo?.db.dropDatabase();
    await mongo?.close();
    await servers?.stop();
  });

  const binds = (count: number) => new Map([["smsc", count]]);
  const owned = async (leases: ReturnType<typeof createBindLeases>, count: number) =>
    (await leases.sync(binds(count))).get("smsc") ?? [];

  it("one process has all binds; a second gets its half, and a bind never has two owners", async () => {
    const [a, b] = [createBindLeases(mongo.db, "a"), createBindLeases(mongo.db, "b")];
    expect(await owned(a, 4)).to.deep.equal([0, 1, 2, 3]);
    expect(await owned(b, 4)).to.deep.equal([]);
    const [first, second] = [await owned(a, 4), await owned(b, 4)];
    expect([...first, ...second].sort()).to.deep.equal([0, 1, 2, 3]);
    expect(first.length).to.equal(2);
    expect([a.replicas, b.replicas]).to.deep.equal([2, 2]);
    await a.releaseAll();
    expect(await owned(b, 4)).to.deep.equal([0, 1, 2, 3]);
    await b.releaseAll();
  });

  it("a silent owner's binds pass on when its lease ends, and it knows before that", async () => {
    const ttlMs = 600;
    const dead = createBindLeases(mongo.db, "dead", ttlMs);
    const heir = createBindLeases(mongo.db, "heir", ttlMs);
    expect(await owned(dead, 1)).to.deep.equal([0]);
    let isValidWhenTaken = true;
    await eventually(async () => {
      const mine = await owned(heir, 1);
      isValidWhenTaken = dead.isValid;
      return mine.length === 1;
    });
    expect(isValidWhenTaken).to.equal(false);
    expect(await owned(dead, 1)).to.deep.equal([]);
    await dead.releaseAll();
    await heir.releaseAll();
  });

  it("a bind that is no longer wanted is given back", async () => {
    const a = createBindLeases(mongo.db, "a");
    expect(await owned(a, 2)).to.deep.equal([0, 1]);
    expect(await owned(a, 1)).to.deep.equal([0]);
    const leases = mongo.db.collection("leases");
    expect(await leases.countDocuments({ _id: /^bind/ as never })).to.equal(1);
    await a.releaseAll();
  });

  it("a lease is kept until its link is closed, and only then is the next owner's", async () => {
    const [a, b] = [createBindLeases(mongo.db, "a"), createBindLeases(mongo.db, "b")];
    const linked = new Set([0, 1]);
    const isLinked = (_: string, index: number) => linked.has(index);
    expect((await a.sync(binds(2), isLinked)).get("smsc")).to.deep.equal([0, 1]);
    expect(await owned(b, 2)).to.deep.equal([]);
    // Its share is one bind now, but the other's link still waits for answers.
    expect((await a.sync(binds(2), isLinked)).get("smsc")).to.deep.equal([0]);
    expect(await owned(b, 2)).to.deep.equal([]);
    linked.delete(1);
    await a.sync(binds(2), isLinked);
    expect(await owned(b, 2)).to.deep.equal([1]);
    await Promise.all([a.releaseAll(), b.releaseAll()]);
  });

  it("a first lease ends by the database's clock, however slow this machine's is", async () => {
    const [slow, other] = [createBindLeases(mongo.db, "slow"), createBindLeases(mongo.db, "other")];
    const { now } = Date;
    Date.now = () => now() - 3_600_000;
    try {
      expect(await owned(slow, 1)).to.deep.equal([0]);
    } finally {
      Date.now = now;
    }
    expect(await owned(other, 1)).to.deep.equal([]);
    expect(other.replicas).to.equal(2);
    await Promise.all([slow.releaseAll(), other.releaseAll()]);
  });

  it("while changed settings wait for the old link to close, its bind stays leased", async () => {
    const [a, b] = [createBindLeases(mongo.db, "a"), createBindLeases(mongo.db, "b")];
    let window = 1;
    let syncs = 0;
    const closes: (() => void)[] = [];
    const supervisor = createSupervisor({
      listConnectors: async () => [
        connectorConfig({ version: BigInt(window), linkFingerprint: `window ${window}` }),
      ],
      leases: {
        ...a,
        get isValid() {
          return a.isValid;
        },
        async sync(...args) {
          const answer = await a.sync(...args);
          syncs += 1;
          return answer;
        },
      },
      createRunner: () => runnerThatCloses(new Promise((resolve) => closes.push(resolve))),
      createRateLimiter: () => undefined,
      ...{ pollMs: 50, drainMs: 5000, log },
    });
    supervisor.start();
    expect(supervisor.settingsOf("smsc")).to.equal("not_read");
    const isLinked = () => supervisor.find("smsc")?.runner.isLinked(0) === true;
    try {
      await eventually(isLinked);
      window = 2;
      await eventually(() => supervisor.find("smsc") === undefined);
      // A receipt that its carrier brings now is still of a connector that there is.
      expect(supervisor.settingsOf("smsc")).to.have.property("id", "smsc");
      const before = syncs;
      await eventually(() => syncs >= before + 2, { timeoutMs: 5000 });
      expect(await owned(b, 1)).to.deep.equal([]);
      closes[0]?.();
      await eventually(isLinked, { timeoutMs: 5000 });
    } finally {
      for (const close of closes) close();
      await supervisor.close(1000);
      await b.releaseAll();
    }
  }).timeout(15_000);

  /** Two replicas use what they are granted for so long; answers when. */
  async function useFor(seconds: number, asked: Redis): Promise<number[]> {
    const key = freshSubject("rate");
    const used: number[] = [];
    const endMs = performance.now() + seconds * 1000;
    async function replica(): Promise<void> {
      const options = { key, ratePerSecond: 100, replicas: () => 2, log };
      const rateLimiter = createRateLimiter({ redis: asked, ...options });
      while (performance.now() < endMs) {
        const { count, waitMs } = await rateLimiter.acquire(20);
        for (let n = 0; n < count; n++) used.push(performance.now());
        await pause(Math.max(5, Math.ceil(waitMs)));
      }
    }
    await Promise.all([replica(), replica()]);
    return used;
  }

  it("two replicas share 100/s: never more in any second, and nearly all used", async function () {
    this.timeout(20_000);
    const used = await useFor(6, redis);
    expect(busiestSecond(used)).to.be.at.most(100);
    // An idle machine uses 98 %; one that stalls loses what it was granted meanwhile.
    expect(used.length).to.be.at.least(540);
  });

  it("two replicas share 100/s: never more while Redis fails repeatedly", async function () {
    this.timeout(20_000);
    const startMs = performance.now();
    const isAway = () => (performance.now() - startMs) % 2500 > 1300;
    const asked = {
      eval: (...args: Parameters<Redis["eval"]>) =>
        isAway() ? Promise.reject(new Error("Redis is away")) : redis.eval(...args),
    };
    const used = await useFor(8, asked as unknown as Redis);
    // The test above covers bursts after a stall of the machine; 137 were not counted.
    expect(busiestSecond(used)).to.be.at.most(110);
    expect(used.length).to.be.at.least(400);
  });

  for (const kept of ["line", "granted"]) {
    it(`a full Redis that keeps only the ${kept} of a rate does not block submits`, async function () {
      this.timeout(20_000);
      const rateLimiter = createRateLimiter({
        redis,
        key: "evicted",
        ratePerSecond: 50,
        replicas: () => 2,
        log,
      });
      async function use(ms: number): Promise<number> {
        let used = 0;
        for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
          used += (await rateLimiter.acquire(10)).count;
          await pause(5);
        }
        return used;
      }
      expect(await use(1000)).to.be.greaterThan(40);
      await redis.del(`{evicted}:${kept === "line" ? "granted" : "line"}`);
      await use(1000);
      const used = await use(2000);
      expect(used).to.be.greaterThan(80).and.at.most(110);
    });
  }

  it("with Redis away each replica keeps to its share by itself", async () => {
    const away = openRedis({ url: "redis://127.0.0.1:1", log });
    const rateLimiter = createRateLimiter({
      redis: away,
      key: "x",
      ratePerSecond: 100,
      replicas: () => 4,
      log,
    });
    let granted = 0;
    const endMs = performance.now() + 1000;
    while (performance.now() < endMs) {
      granted += (await rateLimiter.acquire(100)).count;
      await pause(5);
    }
    away.disconnect();
    expect(granted).to.be.within(15, 26);
  });
});

/** A runner whose links close when `closed` resolves. */
function runnerThatCloses(closed: Promise<void>): ConnectorRunner {
  const linked = new Set<number>();
  return fakeRunner({
    setOwned: (indexes) => indexes.forEach((index) => void linked.add(index)),
    isLinked: (index) => linked.has(index),
    async close() {
      await closed;
      linked.clear();
    },
  });
}
