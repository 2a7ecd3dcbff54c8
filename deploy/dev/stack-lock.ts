import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { readJson } from "./json-file.ts";
import type { Layout } from "./paths.ts";
import { pollUntil } from "./poll.ts";
import { isRunning, type ProcessRecord, thisProcess } from "./processes.ts";
import { StackError } from "./stack-error.ts";

const WAIT_MS = 120_000;

/** A lock file appears atomically: one unreadable for this long was left by a full disk. */
const UNREADABLE_MS = 5000;

/**
 * Runs `work` while no other command starts or stops processes of the same stack. Waits for the lock
 * until `signal` is aborted. Ignores the lock of a dead owner.
 */
export async function withStackLock<T>(
  layout: Layout,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const file = join(layout.runDir, "lock.json");
  const mine = JSON.stringify(ownRecord());
  const tryIt = () => {
    signal?.throwIfAborted();
    return take(file, mine);
  };
  if ((await pollUntil(tryIt, WAIT_MS, 100)) === undefined) {
    const owner = readJson<ProcessRecord>(file);
    throw new StackError(`another command (pid ${owner?.pid}) is still at work on this stack`);
  }
  try {
    return await work();
  } finally {
    if (textOf(file) === mine) rmSync(file, { force: true });
  }
}

/** Identifies a process by its pid and start time from /proc. */
function ownRecord(): ProcessRecord {
  if (process.platform !== "linux") {
    throw new StackError(
      `the development stack needs Linux, which this is not (${process.platform})`,
    );
  }
  return thisProcess();
}

function take(file: string, mine: string): boolean {
  try {
    write(file, mine);
    return true;
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    // ENOENT: another command removed the folder.
    const isTaken = code === "EEXIST" && syscall === "link";
    if (!isTaken && (code !== "ENOENT" || syscall === "mkdir")) {
      throw new StackError(`the stack's lock cannot be written: ${message}`);
    }
    removeDead(file);
    return false;
  }
}

/** Creates the file with its text atomically; fails if it exists. */
function write(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(draft, text);
    linkSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes a dead owner's lock. If another command took the lock in between, puts that lock back. */
function removeDead(file: string): void {
  const text = textOf(file);
  if (text === undefined || !isDead(file, text)) return;
  const aside = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, aside);
    if (textOf(aside) !== text) linkSync(aside, file);
  } catch {
    // Another command was faster or holds the lock.
  } finally {
    rmSync(aside, { force: true });
  }
}

function isDead(file: string, text: string): boolean {
  try {
    return !isRunning(JSON.parse(text) as ProcessRecord);
  } catch {
    const made = statSync(file, { throwIfNoEntry: false });
    return made !== undefined && Date.now() - made.mtimeMs > UNREADABLE_MS;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
