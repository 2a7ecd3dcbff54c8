/**
 * `make bench-memory`: a stack of its own with a process for each service; how long it and each
 * process take to be ready, started alone, and the memory of each while nothing happens.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { layoutOf } from "../../deploy/dev/layout.ts";
import { PROCESS_LAYOUTS } from "../../deploy/dev/process-table.ts";
import { readProcessMemory } from "../support/process-memory.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { type Row, report } from "./report.ts";

const READY_MAX_MS = 1500;
const STACK_MAX_MS = 10_000;
const MEMORY_MAX_MIB = 120;
const MEMORY_AIM_MIB = 80;
/** What starting leaves to do is done by then. */
const IDLE_MS = 5000;

const begunMs = performance.now();
// A process for each service, as in production.
const stack = await startTestStack({ processes: PROCESS_LAYOUTS.apart });
const upMs = performance.now() - begunMs;
try {
  const names = PROCESS_LAYOUTS.apart.map(({ name }) => name);
  const ready: [string, number][] = [];
  for (const name of names) {
    await stack.restart(name);
    ready.push([name, readyMs(stack, name)]);
  }
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const memory = names.map((name) => [name, readProcessMemory(stack.pid(name))] as const);
  for (const [name, { residentMib, shareMib }] of memory) {
    const ms = ready.find(([one]) => one === name)?.[1] ?? Number.NaN;
    process.stdout.write(
      `${name.padEnd(12)} ready ${String(Math.round(ms)).padStart(5)} ms   ` +
        `resident ${residentMib.toFixed(0).padStart(4)} MB   own share ${shareMib.toFixed(0).padStart(4)} MB\n`,
    );
  }
  const slowest = Math.max(...ready.map(([, ms]) => ms));
  const largest = Math.max(...memory.map(([, { residentMib }]) => residentMib));
  const rows: Row[] = [
    row("memory of one idle service process", "MB", largest, MEMORY_MAX_MIB, MEMORY_AIM_MIB),
    row("one process ready, started alone", "ms", slowest, READY_MAX_MS, READY_MAX_MS),
    row("the stack ready, servers and data included", "ms", upMs, STACK_MAX_MS, STACK_MAX_MS),
  ];
  report("memory", rows);
  if (rows.some(({ met }) => !met)) process.exitCode = 1;
} finally {
  await stack.stop();
}

function row(path: string, unit: string, measured: number, most: number, aim: number): Row {
  return {
    path,
    budget: `${most} ${unit}`,
    aim: `${aim} ${unit}`,
    measured: `${Math.round(measured)} ${unit}`,
    met: measured <= most,
    figures: { measured, most, aim },
  };
}

/** From the start of the program to "ready", as the process itself has logged it last. */
function readyMs(from: TestStack, name: string): number {
  const log = readFileSync(join(layoutOf(from.dir).logDir, `${name}.log`), "utf8");
  const found = [...log.matchAll(/"startedMs":(\d+)/g)].at(-1)?.[1];
  return Number(found ?? Number.NaN);
}
