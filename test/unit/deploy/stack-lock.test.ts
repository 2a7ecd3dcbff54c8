import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { layoutOf } from "../../../deploy/dev/paths.ts";
import { thisProcess } from "../../../deploy/dev/processes.ts";
import { withStackLock } from "../../../deploy/dev/stack-lock.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the lock of a stack", () => {
  const dir = temporaryFolder("stack-lock");
  const layout = layoutOf(dir);
  const file = join(layout.runDir, "lock.json");
  beforeEach(() => mkdirSync(layout.runDir, { recursive: true }));
  afterEach(() => rmSync(layout.runDir, { recursive: true, force: true }));

  it("admits one holder at a time, and is removed afterwards", async () => {
    let atWork = 0;
    let most = 0;
    const work = async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await new Promise((resolve) => setImmediate(resolve));
      atWork -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => withStackLock(layout, work)));
    expect(most).to.equal(1);
    expect(existsSync(file)).to.equal(false);
  });

  it("of a dead owner is ignored", async () => {
    writeFileSync(file, JSON.stringify({ ...thisProcess(), startTicks: "1" }));
    expect(await withStackLock(layout, async () => "mine")).to.equal("mine");
  });

  it("that a full disk left empty is ignored once it is no longer being written", async () => {
    writeFileSync(file, "");
    const old = new Date(Date.now() - 6000);
    utimesSync(file, old, old);
    expect(await withStackLock(layout, async () => "mine")).to.equal("mine");
  });

  it("is awaited only until the signal is aborted", async () => {
    writeFileSync(file, JSON.stringify(thisProcess()));
    const signal = AbortSignal.timeout(30);
    const failure = await withStackLock(layout, async () => "mine", signal).catch(
      (error: Error) => error.name,
    );
    expect(failure).to.equal("TimeoutError");
    expect(existsSync(file)).to.equal(true);
  });

  it("that cannot be written fails at once with the reason", async () => {
    for (const [place, name] of [
      [dir, "blocked"],
      [join(dir, "other"), "run"],
    ] as const) {
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, name), "a file where a folder should be");
      const blocked = layoutOf(name === "run" ? place : join(place, name));
      const failure = await withStackLock(blocked, async () => "mine").catch(
        (error: Error) => error,
      );
      expect(failure).to.be.an("error");
      expect((failure as Error).message).to.match(/^the stack's lock cannot be written: /);
    }
  });

  it("is made in a folder that was taken away while it was waited for", async () => {
    writeFileSync(file, JSON.stringify(thisProcess()));
    const waiting = withStackLock(layout, async () => "mine");
    rmSync(layout.runDir, { recursive: true });
    expect(await waiting).to.equal("mine");
  });
});
