import { expect } from "chai";
import { createTurnstile } from "../../../services/shared/flow/keyed-semaphore.ts";

describe("a turnstile", () => {
  const tick = () => new Promise((resolve) => setImmediate(resolve));

  /** Work that is noted when it begins and ends when told to. */
  function open(places: number) {
    const turnstile = createTurnstile(places);
    const begun: string[] = [];
    const ends = new Map<string, PromiseWithResolvers<string>>();
    const pass = (key: string, name: string) =>
      turnstile.pass(key, () => {
        begun.push(name);
        const end = Promise.withResolvers<string>();
        ends.set(name, end);
        return end.promise;
      });
    return { begun, pass, end: (name: string) => ends.get(name) };
  }

  it("lets so many of a key in, and the others of it in order as places become free", async () => {
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

  it("keeps no key waiting for another", async () => {
    const { begun, pass, end } = open(1);
    const all = [pass("a", "a1"), pass("a", "a2"), pass("b", "b1")];
    await tick();
    expect(begun).to.deep.equal(["a1", "b1"]);
    for (const name of ["a1", "b1"]) end(name)?.resolve(name);
    await tick();
    end("a2")?.resolve("a2");
    await Promise.all(all);
  });

  it("frees the place of what fails", async () => {
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
