import { readFileSync } from "node:fs";
import { readJson } from "./json-file.ts";
import { layoutOf } from "./paths.ts";
import { runningProcesses } from "./pid-files.ts";
import { portOf } from "./port-layout.ts";
import { answersOk, readyUrl } from "./probes.ts";
import { processNames } from "./process-names.ts";
import { STACK_IS_DOWN } from "./running-stack.ts";
import { SERVERS, type ServerName } from "./server-table.ts";
import { isServing } from "./servers.ts";
import { runCommand } from "./stack-error.ts";
import type { StackState } from "./stack-file.ts";

/** `make status`: prints each process, its readiness and its memory; exits 1 unless all are ready. */
await runCommand(async () => {
  const layout = layoutOf();
  const state = readJson<StackState>(layout.stateFile);
  const running = runningProcesses(layout.runDir);
  if (state === undefined || running.size === 0) {
    process.stdout.write(`${STACK_IS_DOWN}\n`);
    process.exitCode = 1;
    return;
  }
  const row = (...cells: readonly string[]) =>
    process.stdout.write(`${cells.map((cell, at) => cell.padEnd(at === 0 ? 18 : 11)).join("")}\n`);
  row("process", "pid", "state", "memory");
  for (const name of processNames(state)) {
    const record = running.get(name);
    const isReady = record !== undefined && (await serves(state, name));
    if (!isReady) process.exitCode = 1;
    const word = record === undefined ? "down" : isReady ? "ready" : "not ready";
    row(name, String(record?.pid ?? "-"), word, record === undefined ? "-" : memoryOf(record.pid));
  }
  process.stdout.write(`gateway at http://127.0.0.1:${portOf(state.portBase, "gateway")}\n`);
});

function serves(state: StackState, name: string): Promise<boolean> {
  return name in SERVERS
    ? isServing(name as ServerName, portOf(state.portBase, name as ServerName))
    : answersOk(readyUrl(state, name));
}

/** Resident memory, from VmRSS of proc(5). */
function memoryOf(pid: number): string {
  try {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return `${Math.round(Number(kilobytes) / 1024)} MB`;
  } catch {
    return "-";
  }
}
