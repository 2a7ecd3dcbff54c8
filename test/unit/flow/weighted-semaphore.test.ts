import { expect } from "chai";
import { createWeightedSemaphore } from "../../../services/shared/flow/weighted-semaphore.ts";

describe("a weighted semaphore", () => {
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  let acquiring: Promise<void>[] = [];
  let releaseAll = (): void => undefined;

  // A waiter's timer would keep the process for a minute.
  afterEach(async () => {
    let isDone = false;
    void Promise.all(acquiring).then(() => {
      isDone = true;
    });
    for (await tick(); !isDone; await tick()) releaseAll();
  });

  /** Acquires by name and records who holds. */
  function open(limits: Partial<Parameters<typeof createWeightedSemaphore>[0]> = {}) {
    const semaphore = createWeightedSemaphore({
      totalMax: 10,
      keyMax: 6,
      waitersMax: 5,
      waitMaxMs: 60_000,
      ...limits,
    });
    const holders: string[] = [];
    const refused: string[] = [];
    const releases = new Map<string, () => void>();
    const take = async (key: string, name: string, weight: number) => {
      const release = await semaphore.acquire(key, weight);
      if (release === undefined) return void refused.push(name);
      holders.push(name);
      releases.set(name, release);
    };
    acquiring = [];
    const acquire = (key: string, name: string, weight: number) => {
      const taken = take(key, name, weight);
      acquiring.push(taken);
      return taken;
    };
    releaseAll = () => {
      for (const release of releases.values()) release();
    };
    const release = async (name: string) => {
      releases.get(name)?.();
      await tick();
    };
    return { acquire, holders, refused, release };
  }

  it("limits the weight of one key, and the weight of all", async () => {
    const { acquire, holders } = open();
    for (const [key, name, weight] of [
      ["a", "a1", 4],
      ["a", "a2", 3],
      ["b", "b1", 6],
      ["c", "c1", 1],
    ] as const) {
      void acquire(key, name, weight);
    }
    await tick();
    expect(holders).to.deep.equal(["a1", "b1"]);
  });

  it("serves the waiters of a key in order, and keys in turn", async () => {
    const { acquire, holders, release } = open({ totalMax: 1 });
    void acquire("a", "a1", 1);
    for (const name of ["a2", "a3"]) void acquire("a", name, 1);
    for (const name of ["b1", "b2"]) void acquire("b", name, 1);
    await tick();
    for (const name of ["a1", "a2", "b1", "a3"]) await release(name);
    expect(holders).to.deep.equal(["a1", "a2", "b1", "a3", "b2"]);
  });

  it("lets no small weight overtake a large one that waits for the total", async () => {
    const { acquire, holders, release } = open();
    void acquire("a", "a1", 6);
    void acquire("b", "b1", 6);
    void acquire("c", "c1", 1);
    await tick();
    expect(holders).to.deep.equal(["a1"]);
    await release("a1");
    expect(holders).to.deep.equal(["a1", "b1", "c1"]);
  });

  it("lets other keys pass one that waits for its own weight", async () => {
    const { acquire, holders } = open();
    void acquire("a", "a1", 6);
    void acquire("a", "a2", 1);
    void acquire("b", "b1", 1);
    await tick();
    expect(holders).to.deep.equal(["a1", "b1"]);
  });

  it("gives a weight above the limits alone", async () => {
    const { acquire, holders, release } = open();
    void acquire("a", "a1", 100);
    void acquire("b", "b1", 1);
    await tick();
    expect(holders).to.deep.equal(["a1"]);
    await release("a1");
    expect(holders).to.deep.equal(["a1", "b1"]);
  });

  it("refuses a waiter at once beyond the waiters of its key", async () => {
    const { acquire, refused } = open({ waitersMax: 2 });
    for (const name of ["a1", "a2", "a3", "a4"]) void acquire("a", name, 6);
    await tick();
    expect(refused).to.deep.equal(["a4"]);
  });

  it("refuses a waiter after its wait, and serves those behind it", async () => {
    const { acquire, holders, refused, release } = open({ waitMaxMs: 20 });
    await acquire("a", "a1", 4);
    await acquire("a", "a2", 6);
    expect(refused).to.deep.equal(["a2"]);
    await acquire("a", "a3", 2);
    await release("a1");
    expect(holders).to.deep.equal(["a1", "a3"]);
  });

  it("counts a release once", async () => {
    const { acquire, holders, release } = open();
    await acquire("a", "a1", 6);
    await release("a1");
    await release("a1");
    void acquire("a", "a2", 6);
    void acquire("a", "a3", 1);
    await tick();
    expect(holders).to.deep.equal(["a1", "a2"]);
  });
});
