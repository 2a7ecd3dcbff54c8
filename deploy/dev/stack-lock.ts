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

/** A lock appears whole: one that cannot be read for so long was left by a disk that was full. */
const UNREADABLE_MS = 5000;

/**
 * Runs `work` while no other command starts or ends processes of the same stack; waits for one that
 * does, until `signal` is aborted. A lock whose owner has died counts for nothing.
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

/** Processes are told apart by what Linux says of them. */
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
    // ENOENT: somebody takes the folder away while this one waits.
    const isTaken = code === "EEXIST" && syscall === "link";
    if (!isTaken && (code !== "ENOENT" || syscall === "mkdir")) {
      throw new StackError(`the stack's lock cannot be written: ${message}`);
    }
    removeDead(file);
    return false;
  }
}

/** Makes the file with its text in one step, so that nobody reads half of it; fails where there is one. */
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

/** Of two that find the same dead owner one may have the lock already: what is no longer dead is put back. */
function removeDead(file: string): void {
  const text = textOf(file);
  if (text === undefined || !isDead(file, text)) return;
  const aside = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, aside);
    if (textOf(aside) !== text) linkSync(aside, file);
  } catch {
    // Another was faster, or has the lock by now.
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
