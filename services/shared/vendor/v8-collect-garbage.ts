/**
 * What: one full garbage collection, without the flag `--expose-gc` for the whole process.
 * Why: Node has no function that returns unused heap to the system; V8 offers `gc` under that flag only.
 * Upstream: no issue known.
 * Tried with: Node 26.10.0.
 * Tests: `test/integration/io/process-memory.test.ts`, `test/unit/vendor/private-parts.test.ts`.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects all garbage and shrinks the heap; blocks for about 100 ms. */
export function collectGarbage(): void {
  // The flag is set only while `gc` is made: V8 keys its code cache by a hash of the flags.
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as NonNullable<typeof globalThis.gc>;
  setFlagsFromString("--no-expose-gc");
  gc({ type: "major", execution: "sync", flavor: "last-resort" });
}
