import { writeSync } from "node:fs";
import { relative } from "node:path";

/**
 * Mocha hooks for runs of several files in one process: report the seconds that each file took as
 * lines `<seconds> <file>` on the descriptor of TEST_SECONDS_FD.
 */
const descriptor = Number(process.env.TEST_SECONDS_FD);
const msOfFile = new Map<string, number>();
let lastMs = performance.now();

export const mochaHooks = {
  beforeAll(): void {
    lastMs = performance.now();
  },
  afterEach(this: Mocha.Context): void {
    const file = relative(process.cwd(), this.currentTest?.file ?? "");
    const nowMs = performance.now();
    msOfFile.set(file, (msOfFile.get(file) ?? 0) + nowMs - lastMs);
    lastMs = nowMs;
  },
  afterAll(): void {
    for (const [file, ms] of msOfFile) writeSync(descriptor, `${(ms / 1000).toFixed(1)} ${file}\n`);
  },
};
