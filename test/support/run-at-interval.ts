import { setTimeout as sleep } from "node:timers/promises";

/** Runs each item in turn, `everyMs` apart, later when the one before takes longer. */
export async function runAtInterval<T>(
  items: readonly T[],
  everyMs: number,
  run: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const begunMs = performance.now();
  for (const [index, item] of items.entries()) {
    const aheadMs = index * everyMs - (performance.now() - begunMs);
    if (aheadMs > 1) await sleep(aheadMs);
    await run(item, index);
  }
}
