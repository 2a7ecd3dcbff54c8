/** CPU time of processes from /proc: reliable even on a noisy machine. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Names and pids of the processes: services that share one are counted once, under its name. */
export function processesIn(pids: Readonly<Record<string, number>>): [string, number][] {
  const names = new Map<number, string>();
  for (const [name, pid] of Object.entries(pids)) if (!names.has(pid)) names.set(pid, name);
  return [...names].map(([pid, name]) => [name, pid]);
}

/** CPU seconds (user and system, all threads) that each process has used so far, by name. */
export function cpuSeconds(pids: Readonly<Record<string, number>>): Map<string, number> {
  const used = new Map<string, number>();
  for (const [name, pid] of processesIn(pids)) {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in brackets may hold spaces; fields 14 and 15 are counted behind it (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    used.set(name, (Number(fields[11]) + Number(fields[12])) / ticksPerSecond());
  }
  return used;
}

/** Resident memory of each process in megabytes. */
export function residentMb(pids: Readonly<Record<string, number>>): Map<string, number> {
  const resident = new Map<string, number>();
  for (const [name, pid] of processesIn(pids)) {
    const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"));
    resident.set(name, Number(line?.[1] ?? 0) / 1024);
  }
  return resident;
}

/** Open files of a process, sockets among them. */
export function openFiles(pid: number): { readonly files: number; readonly sockets: number } {
  const folder = `/proc/${pid}/fd`;
  const names = readdirSync(folder);
  const sockets = names.filter((name) => isSocket(`${folder}/${name}`)).length;
  return { files: names.length, sockets };
}

/** A file may be closed between the listing and this read. */
function isSocket(link: string): boolean {
  try {
    return readlinkSync(link).startsWith("socket:");
  } catch {
    return false;
  }
}

let ticks: number | undefined;
function ticksPerSecond(): number {
  ticks ??= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return ticks;
}
