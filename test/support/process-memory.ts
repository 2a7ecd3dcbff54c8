import { readFileSync } from "node:fs";

/** Memory of a process, in mebibytes (proc(5)). */
export type ProcessMemory = {
  /** Resident, with the program's own code, which all processes of one program share. */
  readonly residentMib: number;
  /** Its share: shared pages divided by how many processes have them (PSS). */
  readonly shareMib: number;
};

/** Reads it; Linux only. */
export function readProcessMemory(pid: number): ProcessMemory {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
  const mib = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? Number.NaN) / 1024;
  return { residentMib: mib("Rss"), shareMib: mib("Pss") };
}
