import { expect } from "chai";
import { createKeyedSemaphore } from "../../../services/shared/flow/keyed-semaphore.ts";

describe("a keyed semaphore", () => {
  const tick = () => new Promise((resolve) => setImmediate(resolve));

  /** Work that records its start and ends when the test resolves it. */
  function open(max: number) {
    const semaphore = createKeyedSemaphore(max);
    const begun: string[] = [];
    const ends = new Map<string, PromiseWithResolvers<string>>();
    const pass = (key: string, name: string) =>
      semaphore.run(key, () => {
        begun.push(name);
        const end = Promise.withResolvers<string>();
        ends.set(name, end);
        return end.promise;
      });
    return { begun, pass, end: (name: string) => ends.get(name) };
  }

  it("runs at most max holders of a key, and its waiters in order of arrival", async () => {
    const { begun, pass, end } = open(2);
    const all = ["a1", "a2", "a3", "a4"].map((name) => pass("a", name));
    await tick();
    expect(begun).to.deep.equal(["a1", "a2"]);
    end("a2")?.resolve("second");
    await tick();
    expect(begun).to.deep.equal(["a1", "a2", "a3"]);
    const late = pass("a", "a5");
    end("a1")?.resolve("first");
    await tick();
    expect(begun).to.deep.equal(["a1", "a2", "a3", "a4"]);
    for (const name of ["a3", "a4"]) end(name)?.resolve(name);
    await tick();
    end("a5")?.resolve("a5");
    expect(await Promise.all([...all, late])).to.deep.equal(["first", "second", "a3", "a4", "a5"]);
  });

  it("never blocks one key for another", async () => {
    const { begun, pass, end } = open(1);
    const all = [pass("a", "a1"), pass("a", "a2"), pass("b", "b1")];
    await tick();
    expect(begun).to.deep.equal(["a1", "b1"]);
    for (const name of ["a1", "b1"]) end(name)?.resolve(name);
    await tick();
    end("a2")?.resolve("a2");
    await Promise.all(all);
  });

  it("frees the slot of work that fails", async () => {
    const { pass, end } = open(1);
    const failing = pass("a", "a1").catch((error: Error) => error.message);
    const next = pass("a", "a2");
    await tick();
    end("a1")?.reject(new Error("broken"));
    expect(await failing).to.equal("broken");
    await tick();
    end("a2")?.resolve("fine");
    expect(await next).to.equal("fine");
  });
});
