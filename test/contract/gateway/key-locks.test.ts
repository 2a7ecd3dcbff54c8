/** Conformance suite of the idempotency locks, run in memory and on Redis. */
import { hash } from "node:crypto";
import { expect } from "chai";
import { createKeyLocks, type KeyLocks } from "../../../gateway/idempotency/lock.ts";
import { freshSubject } from "../../support/fresh-names.ts";
import { createMemoryKeyLocks } from "../../support/memory-key-locks.ts";
import { openAwayRedis, useRedis } from "../../support/redis.ts";

const [one, two] = ["one", "two"].map((text) => hash("sha256", text, "buffer")) as [Buffer, Buffer];

const redis = useRedis();

for (const [place, open] of [
  ["in memory", createMemoryKeyLocks],
  ["on Redis", () => createKeyLocks(redis())],
] as const) {
  describe(`the idempotency locks ${place}`, () => {
    let locks: KeyLocks;
    before(() => {
      locks = open();
    });
    const stateOf = async (scope: string, fingerprint: Buffer) =>
      (await locks.acquire(scope, fingerprint)).state;

    it("let one of many concurrent requests have a key", async () => {
      const scope = freshSubject("key");
      const states = await Promise.all(Array.from({ length: 50 }, () => stateOf(scope, one)));
      expect(states.filter((state) => state === "acquired")).to.have.length(1);
      expect(states.filter((state) => state === "busy_same")).to.have.length(49);
    });

    it("distinguish a repeat of the body from another body while the key is held", async () => {
      const scope = freshSubject("key");
      expect(await stateOf(scope, one)).to.equal("acquired");
      expect(await stateOf(scope, one)).to.equal("busy_same");
      expect(await stateOf(scope, two)).to.equal("busy_other");
    });

    it("are free for any body after the release", async () => {
      const scope = freshSubject("key");
      await (await locks.acquire(scope, one)).release();
      expect(await stateOf(scope, two)).to.equal("acquired");
    });

    it("are not released by a request that did not get them, or has released them before", async () => {
      const scope = freshSubject("key");
      const first = await locks.acquire(scope, one);
      await (await locks.acquire(scope, one)).release();
      expect(await stateOf(scope, two)).to.equal("busy_other");
      await first.release();
      expect(await stateOf(scope, two)).to.equal("acquired");
      await first.release();
      expect(await stateOf(scope, two)).to.equal("busy_same");
    });

    it("keep scopes apart", async () => {
      const [scope, other] = [freshSubject("key"), freshSubject("key")];
      expect(await stateOf(scope, one)).to.equal("acquired");
      expect(await stateOf(other, one)).to.equal("acquired");
    });
  });
}

describe("an idempotency lock on Redis", () => {
  it("expires, so that a crashed gateway does not block its keys for ever", async () => {
    const scope = freshSubject("key");
    await createKeyLocks(redis()).acquire(scope, one);
    expect(await redis().pttl(`idem:${scope}`)).to.be.within(1, 25_000);
  });

  it("is unknown while Redis is away, and its release does not reject", async () => {
    const away = openAwayRedis();
    const lock = await createKeyLocks(away).acquire(freshSubject("key"), one);
    expect(lock.state).to.equal("unknown");
    await lock.release();
    away.disconnect();
  });
});
