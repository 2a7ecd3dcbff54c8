/** What several carrier processes share: the leases of binds, and a connector's rate. */
import { expect } from "chai";
import { createLeases } from "../../services/carrier/leases.ts";
import { migrate } from "../../services/carrier/migrate.ts";
import { createPacer } from "../../services/carrier/pacer.ts";
import { pause } from "../../services/shared/io/backoff.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../services/shared/io/mongo.ts";
import { openRedis, type Redis } from "../../services/shared/io/redis.ts";
import { freshDatabase, freshSubject } from "../support/fresh-names.ts";
import { eventually } from "../support/poll.ts";
import { startServers, type TestServers } from "../support/servers.ts";

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
  const owned = async (leases: ReturnType<typeof createLeases>, count: number) =>
    (await leases.sync(binds(count))).get("smsc") ?? [];

  it("one process has all binds; a second gets its half, and a bind never has two owners", async () => {
    const [a, b] = [createLeases(mongo.db, "a"), createLeases(mongo.db, "b")];
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
    const dead = createLeases(mongo.db, "dead", ttlMs);
    const heir = createLeases(mongo.db, "heir", ttlMs);
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
    const a = createLeases(mongo.db, "a");
    expect(await owned(a, 2)).to.deep.equal([0, 1]);
    expect(await owned(a, 1)).to.deep.equal([0]);
    const leases = mongo.db.collection("leases");
    expect(await leases.countDocuments({ _id: /^bind/ as never })).to.equal(1);
    await a.releaseAll();
  });

  it("two replicas share 100/s: never more in any second, and nearly all used", async function () {
    this.timeout(20_000);
    const key = freshSubject("rate");
    const used: number[] = [];
    const endMs = performance.now() + 6000;
    async function replica(): Promise<void> {
      const pacer = createPacer({ redis, key, ratePerSecond: 100, replicas: () => 2, log });
      while (performance.now() < endMs) {
        const { count, waitMs } = await pacer.ask(20);
        for (let n = 0; n < count; n++) used.push(performance.now());
        await pause(Math.max(5, Math.ceil(waitMs)));
      }
    }
    await Promise.all([replica(), replica()]);
    let most = 0;
    let from = 0;
    used.forEach((atMs, place) => {
      while ((used[from] as number) <= atMs - 1000) from++;
      most = Math.max(most, place - from + 1);
    });
    expect(most).to.be.at.most(100);
    // An idle machine uses 98 %; one that stalls loses what it was granted meanwhile.
    expect(used.length).to.be.at.least(540);
  });

  it("with Redis away each replica keeps to its share by itself", async () => {
    const away = openRedis({ url: "redis://127.0.0.1:1", log });
    const pacer = createPacer({
      redis: away,
      key: "x",
      ratePerSecond: 100,
      replicas: () => 4,
      log,
    });
    let granted = 0;
    const endMs = performance.now() + 1000;
    while (performance.now() < endMs) {
      granted += (await pacer.ask(100)).count;
      await pause(5);
    }
    away.disconnect();
    expect(granted).to.be.within(15, 26);
  });
});
