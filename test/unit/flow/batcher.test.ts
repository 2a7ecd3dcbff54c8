import { expect } from "chai";
import fc from "fast-check";
import { AppError } from "../../../services/shared/core/errors.ts";
import { type Batcher, createBatcher } from "../../../services/shared/flow/batcher.ts";
import { eventually } from "../../support/poll.ts";

/** A flush that the test completes itself. */
function manualFlush() {
  const flushes: { items: readonly number[]; done: (results: (number | Error)[]) => void }[] = [];
  return {
    flushes,
    flush: (items: readonly number[]) =>
      new Promise<(number | Error)[]>((resolve) => flushes.push({ items, done: resolve })),
  };
}

async function ticks(count = 5): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await new Promise(setImmediate);
}

describe("a batcher", () => {
  it("writes a lone item at once, without a timer", async () => {
    const { flushes, flush } = manualFlush();
    const batcher = createBatcher({ name: "t", batchMax: 10, queueMax: 10, flush });
    const result = batcher.add(7);
    await ticks();
    expect(flushes.map(({ items }) => items)).to.deep.equal([[7]]);
    flushes[0]?.done([70]);
    expect(await result).to.equal(70);
  });

  it("writes the items that arrive during a flush together in the next one, in order", async () => {
    const { flushes, flush } = manualFlush();
    const batcher = createBatcher({ name: "t", batchMax: 10, queueMax: 10, flush });
    const results = [batcher.add(1)];
    await ticks();
    results.push(batcher.add(2), batcher.add(3), batcher.add(4));
    await ticks();
    expect(flushes).to.have.length(1);
    flushes[0]?.done([1]);
    await ticks();
    expect(flushes[1]?.items).to.deep.equal([2, 3, 4]);
    flushes[1]?.done([2, 3, 4]);
    expect(await Promise.all(results)).to.deep.equal([1, 2, 3, 4]);
  });

  /** A batcher of at most three items a flush, and the flushes that it has begun. */
  function pacedBatcher(minIntervalMs: number) {
    const begun: { items: readonly number[]; atMs: number }[] = [];
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 3,
      queueMax: 10,
      minIntervalMs,
      flush: async (items) => {
        begun.push({ items, atMs: performance.now() });
        return items;
      },
    });
    return { batcher, begun };
  }

  it("flushes a lone item at once, and later ones after the interval", async () => {
    const { batcher, begun } = pacedBatcher(300);
    await batcher.add(1);
    await Promise.all([batcher.add(2), batcher.add(3)]);
    expect(begun.map(({ items }) => items)).to.deep.equal([[1], [2, 3]]);
    const [first = 0, second = 0] = begun.map(({ atMs }) => atMs);
    expect(second - first).to.be.at.least(298);
  });

  it("does not wait for the interval once the items fill a batch", async () => {
    const { batcher, begun } = pacedBatcher(600_000);
    await batcher.add(1);
    await Promise.all([batcher.add(2), batcher.add(3), batcher.add(4)]);
    expect(begun.map(({ items }) => items)).to.deep.equal([[1], [2, 3, 4]]);
  });

  it("lengthens the interval after a long flush", async () => {
    const begunMs: number[] = [];
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 3,
      queueMax: 10,
      minIntervalMs: 1,
      maxIntervalMs: 200,
      flush: async (items) => {
        begunMs.push(performance.now());
        const endsMs = performance.now() + 40;
        await eventually(() => performance.now() >= endsMs);
        return items;
      },
    });
    await batcher.add(1);
    await batcher.add(2);
    const [first = 0, second = 0] = begunMs;
    expect(second - first).to.be.at.least(78);
  });

  /** A batcher with `flushesWhenIdle`, whose flushes the test ends. */
  function eagerBatcher(minIntervalMs: number) {
    const begun: { items: readonly number[]; atMs: number }[] = [];
    const ends: (() => void)[] = [];
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 10,
      queueMax: 10,
      concurrency: 2,
      minIntervalMs,
      flushesWhenIdle: true,
      flush: async (items) => {
        begun.push({ items, atMs: performance.now() });
        await new Promise<void>((resolve) => ends.push(resolve));
        return items;
      },
    });
    return { batcher, begun, ends };
  }

  it("keeps the interval while a flush runs when flushesWhenIdle is set", async () => {
    const { batcher, begun, ends } = eagerBatcher(300);
    const added = [batcher.add(1)];
    await eventually(() => begun.length === 1);
    added.push(batcher.add(2), batcher.add(3));
    await eventually(() => begun.length === 2);
    const [first = 0, second = 0] = begun.map(({ atMs }) => atMs);
    expect(second - first).to.be.at.least(298);
    for (const end of ends) end();
    expect(await Promise.all(added)).to.deep.equal([1, 2, 3]);
  });

  it("does not wait for the interval when flushesWhenIdle is set and no flush runs", async () => {
    const { batcher, begun, ends } = eagerBatcher(600_000);
    const first = batcher.add(1);
    await eventually(() => begun.length === 1);
    const second = batcher.add(2);
    ends[0]?.();
    await eventually(() => begun.length === 2);
    ends[1]?.();
    expect(await Promise.all([first, second])).to.deep.equal([1, 2]);
    expect(begun.map(({ items }) => items)).to.deep.equal([[1], [2]]);
  });

  it("keeps the interval only after a flush of several items when flushesAfterOne is set", async () => {
    const begunMs: number[] = [];
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 10,
      queueMax: 10,
      minIntervalMs: 300,
      flushesAfterOne: true,
      flush: async (items) => {
        begunMs.push(performance.now());
        return items;
      },
    });
    await batcher.add(1);
    await Promise.all([batcher.add(2), batcher.add(3)]);
    await batcher.add(4);

    const [first = 0, second = 0, third = 0] = begunMs;
    expect(begunMs).to.have.length(3);
    expect(second - first, "after one item").to.be.below(250);
    expect(third - second, "after two items").to.be.at.least(298);
  });

  it("ends the interval once fullAt items wait", async () => {
    const begun: (readonly number[])[] = [];
    const ends: (() => void)[] = [];
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 10,
      queueMax: 20,
      concurrency: 2,
      minIntervalMs: 60_000,
      flushesWhenIdle: true,
      fullAt: 3,
      flush: async (items) => {
        begun.push(items);
        await new Promise<void>((resolve) => ends.push(resolve));
        return items;
      },
    });
    const added = [batcher.add(1)];
    await eventually(() => begun.length === 1);
    added.push(batcher.add(2), batcher.add(3));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(begun, "two are not enough").to.deep.equal([[1]]);
    added.push(batcher.add(4));
    await eventually(() => begun.length === 2);
    added.push(batcher.add(5), batcher.add(6), batcher.add(7));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(begun, "no flush may start").to.deep.equal([[1], [2, 3, 4]]);
    ends[0]?.();
    await eventually(() => begun.length === 3);
    for (const end of ends) end();
    expect(await Promise.all(added)).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
  });

  it("never puts more than batchMax into one flush", async () => {
    const sizes: number[] = [];
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 3,
      queueMax: 100,
      flush: async (items) => {
        sizes.push(items.length);
        return items;
      },
    });
    await Promise.all(Array.from({ length: 10 }, (_, item) => batcher.add(item)));
    expect(Math.max(...sizes)).to.equal(3);
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(10);
  });

  it("refuses at once when the queue is full, and loses no accepted item", async () => {
    const { flushes, flush } = manualFlush();
    const batcher = createBatcher({ name: "t", batchMax: 1, queueMax: 2, flush });
    const first = batcher.add(1);
    await ticks();
    const taken = [batcher.add(2), batcher.add(3)];
    const error = await batcher.add(4).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(AppError).with.property("code", "service_unavailable");
    for (const at of [0, 1, 2]) {
      flushes[at]?.done([at]);
      await ticks();
    }
    expect(await Promise.all([first, ...taken])).to.deep.equal([0, 1, 2]);
  });

  it("fails only the bad items when a whole flush fails", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (bad) => {
        const written: number[] = [];
        const batcher = createBatcher<number, number>({
          name: "t",
          batchMax: 16,
          queueMax: 100,
          flush: async (items) => {
            if (items.some((item) => bad[item])) throw new Error("a bad item");
            written.push(...items);
            return items;
          },
        });
        const outcomes = await Promise.allSettled(bad.map((_, item) => batcher.add(item)));
        outcomes.forEach((outcome, item) => {
          expect(outcome.status).to.equal(bad[item] ? "rejected" : "fulfilled");
        });
        expect(written.toSorted((a, b) => a - b)).to.deep.equal(
          bad.flatMap((isBad, item) => (isBad ? [] : [item])),
        );
      }),
      { numRuns: 50 },
    );
  });

  it("does not split a batch that failed in an outage", async () => {
    let flushes = 0;
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 16,
      queueMax: 100,
      isTransient: () => true,
      flush: async () => {
        flushes += 1;
        throw new Error("away");
      },
    });
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map((item) => batcher.add(item)));
    expect(outcomes.every(({ status }) => status === "rejected")).to.equal(true);
    expect(flushes).to.equal(1);
  });

  it("fails an item alone when its own result is an error", async () => {
    const batcher = createBatcher<number, number>({
      name: "t",
      batchMax: 16,
      queueMax: 100,
      flush: async (items) => items.map((item) => (item === 2 ? new Error("two") : item)),
    });
    const outcomes = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });

  it("settles every item before close answers, and refuses later items", async () => {
    const { flushes, flush } = manualFlush();
    const batcher: Batcher<number, number> = createBatcher({
      name: "t",
      batchMax: 1,
      queueMax: 10,
      flush,
    });
    const taken = [batcher.add(1), batcher.add(2)];
    let closed = false;
    const closing = batcher.close().then(() => {
      closed = true;
    });
    const late = await batcher.add(3).catch((thrown: unknown) => thrown);
    expect(late).to.be.instanceOf(AppError);
    await ticks();
    flushes[0]?.done([1]);
    await ticks();
    expect(closed).to.equal(false);
    flushes[1]?.done([2]);
    await closing;
    expect(await Promise.all(taken)).to.deep.equal([1, 2]);
  });
});
