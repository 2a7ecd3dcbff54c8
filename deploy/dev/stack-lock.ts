import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { pollUntil } from "./poll.ts";
import { isRunning, type ProcessRecord, thisProcess } from "./processes.ts";
import { StackError } from "./stack-error.ts";

const WAIT_MS = 120_000;

/**
 * Runs `work` while no other command starts or ends processes of the same stack; waits for one that
 * does. A lock whose owner has died counts for nothing.
 */
export async function withStackLock<T>(layout: Layout, work: () => Promise<T>): Promise<T> {
  const file = join(layout.runDir, "lock.json");
  mkdirSync(layout.runDir, { recursive: true });
  if ((await pollUntil(() => take(file), WAIT_MS, 100)) === undefined) {
    const owner = readJson<ProcessRecord>(file);
    throw new StackError(`another command (pid ${owner?.pid}) is still at work on this stack`);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    writeFileSync(file, JSON.stringify(thisProcess()), { flag: "wx" });
    return true;
  } catch {
    const owner = readJson<ProcessRecord>(file);
    // An unreadable lock is one that is being written this moment.
    if (owner !== undefined && !isRunning(owner)) rmSync(file, { force: true });
    return false;
  }
}
