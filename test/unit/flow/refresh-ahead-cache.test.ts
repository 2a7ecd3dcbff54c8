import { expect } from "chai";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createRefreshAheadCache } from "../../../services/shared/flow/refresh-ahead-cache.ts";
import { eventually } from "../../support/poll.ts";

const MAX_AGE_MS = 5000;

/** A cache whose loads are numbered, and wait for the test once `hold` was called. */
function makeCache(sizeMax = 100) {
  const clock = createManualClock(1_800_000_000_000);
  const loads: string[] = [];
  const waiting: PromiseWithResolvers<string>[] = [];
  let isHeld = false;
  const cache = createRefreshAheadCache<string>({
    maxAgeMs: MAX_AGE_MS,
    sizeMax,
    clock,
    async load(key) {
      loads.push(key);
      const answer = `${key}${loads.length}`;
      if (!isHeld) return answer;
      const held = Promise.withResolvers<string>();
      waiting.push(held);
      await held.promise;
      return answer;
    },
  });
  return {
    cache,
    clock,
    loads,
    waiting,
    hold() {
      isHeld = true;
    },
  };
}

describe("a refresh-ahead cache", () => {
  it("loads a key once, then answers at once, and reloads in the background from half the age on", async () => {
    const { cache, clock, loads } = makeCache();
    expect(await cache.get("a")).to.equal("a1");
    clock.advance(MAX_AGE_MS / 2 - 1);
    expect(cache.get("a")).to.equal("a1");
    expect(loads).to.have.length(1);
    clock.advance(1);
    expect(cache.get("a")).to.equal("a1");
    await eventually(() => cache.get("a") === "a2");
    expect(loads).to.have.length(2);
  });

  it("never returns a value older than maxAgeMs, counted from the start of its load", async () => {
    const { cache, clock, waiting, hold } = makeCache();
    hold();
    const answer = cache.get("a");
    clock.advance(MAX_AGE_MS - 1);
    waiting[0]?.resolve("");
    expect(await answer).to.equal("a1");
    expect(cache.get("a")).to.equal("a1");
    clock.advance(1);
    const reloaded = cache.get("a");
    expect(reloaded).to.be.a("promise");
    for (const each of waiting) each.resolve("");
    expect(await reloaded).to.equal("a2");
  });

  it("loads again when the clock was set back", async () => {
    const { cache, clock } = makeCache();
    await cache.get("a");
    clock.advance(-1);
    expect(await cache.get("a")).to.equal("a2");
  });

  it("loads a key once for concurrent callers", async () => {
    const { cache, loads } = makeCache();
    const answers = await Promise.all(Array.from({ length: 50 }, () => cache.get("a")));
    expect(new Set(answers)).to.deep.equal(new Set(["a1"]));
    expect(loads).to.have.length(1);
  });

  it("does not cache a failure, and keeps the fresh value", async () => {
    const { cache, clock, waiting, hold } = makeCache();
    hold();
    const refused = cache.get("a");
    waiting[0]?.reject(new Error("away"));
    expect(await Promise.resolve(refused).catch((error: Error) => error.message)).to.equal("away");
    const answer = cache.get("a");
    waiting[1]?.resolve("");
    expect(await answer).to.equal("a2");
    clock.advance(MAX_AGE_MS / 2);
    expect(cache.get("a")).to.equal("a2");
    waiting[2]?.reject(new Error("away"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(cache.get("a")).to.equal("a2");
  });

  it("does not keep a value that was forgotten during its load", async () => {
    const { cache, loads, waiting, hold } = makeCache();
    hold();
    const before = cache.get("a");
    const other = cache.get("b");
    cache.forget((key) => key === "a");
    const after = cache.get("a");
    for (const each of waiting) each.resolve("");
    expect([await before, await other, await after]).to.deep.equal(["a1", "b2", "a3"]);
    expect([cache.get("a"), cache.get("b")]).to.deep.equal(["a3", "b2"]);
    expect(loads).to.deep.equal(["a", "b", "a"]);
  });

  it("forgets the matching keys, and evicts the oldest beyond its size", async () => {
    const { cache, loads } = makeCache(2);
    await cache.get("a");
    await cache.get("b");
    cache.forget((key) => key === "a");
    expect(cache.get("b")).to.equal("b2");
    for (const key of ["c", "d"]) await cache.get(key);
    expect(cache.get("d")).to.equal("d4");
    expect(await cache.get("b")).to.equal("b5");
    expect(loads).to.deep.equal(["a", "b", "c", "d", "b"]);
  });
});
