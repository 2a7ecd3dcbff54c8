import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson, writeJson } from "./json-file.ts";
import { isRunning, type ProcessRecord } from "./processes.ts";

const SUFFIX = ".process.json";

/** Records a started process on disk at once, so that `make down` finds it even after a crash. */
export function noteProcess(runDir: string, record: ProcessRecord): void {
  writeJson(join(runDir, `${record.name}${SUFFIX}`), record);
}

/** Deletes the record of an ended process. */
export function forgetProcess(runDir: string, name: string): void {
  rmSync(join(runDir, `${name}${SUFFIX}`), { force: true });
}

/** The recorded processes, running or dead. */
export function notedProcesses(runDir: string): ProcessRecord[] {
  let files: string[] = [];
  try {
    files = readdirSync(runDir);
  } catch {
    // No process was ever started here.
  }
  return files
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => readJson<ProcessRecord>(join(runDir, file)))
    .filter((record) => record !== undefined);
}

/** The running ones among them, by name. */
export function runningProcesses(runDir: string): Map<string, ProcessRecord> {
  return new Map(
    notedProcesses(runDir)
      .filter(isRunning)
      .map((record) => [record.name, record]),
  );
}
