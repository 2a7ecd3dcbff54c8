import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pollUntil } from "./poll.ts";
import { StackError } from "./stack-error.ts";

/** The identity of a started process. The start time and the boot distinguish it from a later process with its pid. */
export type ProcessRecord = {
  readonly name: string;
  readonly pid: number;
  /** Start time in clock ticks since boot (proc(5), field 22 of /proc/pid/stat). */
  readonly startTicks: string;
  readonly bootId: string;
};

export type ProcessPlan = {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard output and standard error are appended to it. */
  readonly logFile: string;
};

/** Starts a process in its own session, so that it outlives this one. */
export async function startProcess(plan: ProcessPlan): Promise<ProcessRecord> {
  mkdirSync(dirname(plan.logFile), { recursive: true });
  const log = openSync(plan.logFile, "a", 0o600);
  try {
    const child = spawn(plan.program, plan.args, {
      cwd: plan.cwd,
      env: { ...plan.env },
      detached: true,
      stdio: ["ignore", log, log],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) =>
        reject(new StackError(`${plan.name}: cannot run ${plan.program}: ${error.message}`)),
      );
    });
    child.unref();
    const pid = child.pid ?? 0;
    return { name: plan.name, pid, startTicks: startTicks(pid) ?? "ended", bootId: bootId() };
  } finally {
    closeSync(log);
  }
}

/** The record of the process that runs this code. */
export function thisProcess(): ProcessRecord {
  const { pid } = process;
  return { name: "this", pid, startTicks: startTicks(pid) ?? "ended", bootId: bootId() };
}

/** Runs a short process to its end; gives its exit code, or null when it was ended by a signal or the time limit. */
export function runToEnd(
  plan: ProcessPlan,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<number | null> {
  mkdirSync(dirname(plan.logFile), { recursive: true });
  const log = openSync(plan.logFile, "a", 0o600);
  const child = spawn(plan.program, plan.args, {
    cwd: plan.cwd,
    env: { ...plan.env },
    stdio: ["ignore", log, log],
    timeout: timeoutMs,
    signal,
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", reject);
  });
}

/** True while the very process of the record runs (a zombie has ended). */
export function isRunning(record: ProcessRecord): boolean {
  return record.bootId === bootId() && startTicks(record.pid) === record.startTicks;
}

/** Ends a process and its session: asks with SIGTERM, insists with SIGKILL after `graceMs`. */
export async function endProcess(
  record: ProcessRecord,
  graceMs: number,
): Promise<"ended" | "killed"> {
  signalGroup(record, "SIGTERM");
  if (await pollUntil(() => !isRunning(record), graceMs)) return "ended";
  signalGroup(record, "SIGKILL");
  await pollUntil(() => !isRunning(record), 5_000);
  return "killed";
}

/** Ends a process at once and without warning, as a crash would. */
export async function killProcess(record: ProcessRecord): Promise<void> {
  signalGroup(record, "SIGKILL");
  await pollUntil(() => !isRunning(record), 5_000);
}

function signalGroup(record: ProcessRecord, signal: NodeJS.Signals): void {
  if (!isRunning(record)) return;
  try {
    process.kill(-record.pid, signal);
  } catch {
    // It ended between the check and the signal.
  }
}

function startTicks(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command name may hold spaces and brackets; the fields go on after its last bracket.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "X" || isReleased(pid, fields[0]) ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/**
 * True for a zombie without other threads. The first thread of a process may end before the others, which still hold
 * its ports and files: another mongod on the same port would end at its start.
 */
function isReleased(pid: number, state: string | undefined): boolean {
  return state === "Z" && readdirSync(`/proc/${pid}/task`).length <= 1;
}

let knownBootId: string | undefined;

function bootId(): string {
  knownBootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return knownBootId;
}

/**
 * The end of a log, for an error message: the lines from an uncaught error on, else the
 * last `count`; of mongod's JSON lines only what they say.
 */
export function lastLines(file: string, count: number): string {
  try {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").slice(-40);
    const error = lines.findLastIndex((line) => /^\w*Error( \[\w+\])?: /.test(line));
    const shown = error < 0 ? lines.slice(-count) : lines.slice(error, error + count);
    return shown.map((line) => `  ${spoken(line).slice(0, 400)}`).join("\n");
  } catch {
    return "  (no log was written)";
  }
}

function spoken(line: string): string {
  if (!line.startsWith('{"t":')) return line;
  const { msg = "", attr } = JSON.parse(line) as { msg?: string; attr?: { error?: unknown } };
  return attr?.error === undefined ? msg.trim() : `${msg.trim()}: ${JSON.stringify(attr.error)}`;
}
