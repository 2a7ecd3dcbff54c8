import assert from "node:assert/strict";
import {
  createStartQueue,
  type StartQueueEntry,
} from "../../../services/webhook/app/start-queue.ts";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

type Named = StartQueueEntry & { readonly name: string };

function starters(count: number, isSlow: boolean): Named[] {
  const kind = isSlow ? "slow" : "prompt";
  return Array.from({ length: count }, (_, dueAtMs) => ({
    dueAtMs,
    isSlow,
    name: `${kind} ${dueAtMs}`,
  }));
}

describe("the start queue of webhook attempts", () => {
  it("starts 64 attempts per event-loop turn, the earliest due first, in any order of arrival", async () => {
    const started: string[] = [];
    const queue = createStartQueue<Named>(({ name }) => void started.push(name));
    for (const starter of starters(100, false).reverse()) queue.add(starter);
    assert.equal(started.length, 0);
    await nextTurn();
    assert.equal(started.length, 64);
    await nextTurn();
    assert.deepEqual(
      started,
      Array.from({ length: 100 }, (_, at) => `prompt ${at}`),
    );
  });

  it("gives slow endpoints half of a turn while others wait, and all of it otherwise", async () => {
    const started: string[] = [];
    const queue = createStartQueue<Named>(({ name }) => void started.push(name));
    for (const starter of starters(100, true)) queue.add(starter);
    // Due later than all the slow ones.
    for (const starter of starters(32, false)) {
      queue.add({ ...starter, dueAtMs: starter.dueAtMs + 1000 });
    }
    await nextTurn();
    assert.equal(started.filter((one) => one.startsWith("slow")).length, 32);
    assert.equal(started.filter((one) => one.startsWith("prompt")).length, 32);
    await nextTurn();
    assert.equal(started.length, 128);
  });

  it("starts no attempt that was cleared", async () => {
    const started: string[] = [];
    const queue = createStartQueue<Named>(({ name }) => void started.push(name));
    for (const starter of starters(3, false)) queue.add(starter);
    assert.equal(queue.clear().length, 3);
    await nextTurn();
    assert.deepEqual(started, []);
  });
});
