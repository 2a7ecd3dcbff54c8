import assert from "node:assert/strict";
import { createStartLine } from "../../services/webhook/service/start-line.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

function starters(count: number, isSlow: boolean, started: string[]) {
  return Array.from({ length: count }, (_, dueAtMs) => ({
    dueAtMs,
    isSlow,
    start: () => void started.push(`${isSlow ? "slow" : "prompt"} ${dueAtMs}`),
  }));
}

describe("the line of attempts that wait to start", () => {
  it("starts a part at each turn, the earliest due first, whatever the order of coming", async () => {
    const started: string[] = [];
    const line = createStartLine();
    for (const starter of starters(100, false, started).reverse()) line.add(starter);
    assert.equal(started.length, 0);
    await turn();
    assert.equal(started.length, 64);
    await turn();
    assert.deepEqual(
      started,
      Array.from({ length: 100 }, (_, at) => `prompt ${at}`),
    );
  });

  it("gives slow endpoints half of a turn while others wait, and all of it when none do", async () => {
    const started: string[] = [];
    const line = createStartLine();
    for (const starter of starters(100, true, started)) line.add(starter);
    // Due later than all of the slow ones.
    for (const starter of starters(32, false, started)) {
      line.add({ ...starter, dueAtMs: starter.dueAtMs + 1000 });
    }
    await turn();
    assert.equal(started.filter((one) => one.startsWith("slow")).length, 32);
    assert.equal(started.filter((one) => one.startsWith("prompt")).length, 32);
    await turn();
    assert.equal(started.length, 128);
  });

  it("starts nothing that was cleared", async () => {
    const started: string[] = [];
    const line = createStartLine();
    for (const starter of starters(3, false, started)) line.add(starter);
    line.clear();
    await turn();
    assert.deepEqual(started, []);
  });
});
