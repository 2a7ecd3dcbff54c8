/**
 * `make bench-memory`: stacks of its own, with a process for each service and with the core in one;
 * how long they and each process take to be ready, started alone, and the memory of each while
 * nothing happens.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { layoutOf } from "../../deploy/dev/paths.ts";
import { PROCESS_LAYOUTS, type ServiceProcess } from "../../deploy/dev/process-table.ts";
import { readProcessMemory } from "../support/process-memory.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { type Row, report } from "./report.ts";

const READY_MAX_MS = 1500;
const STACK_MAX_MS = 10_000;
const MEMORY_MAX_MIB = 120;
const MEMORY_AIM_MIB = 80;
/** Start-up work is finished by then. */
const IDLE_MS = 20_000;

/** Each process of one layout while nothing happens, and how long it took to be ready. */
type Measured = {
  readonly upMs: number;
  readonly readyMs: readonly number[];
  readonly residentMib: readonly number[];
};

const measured: Measured[] = [];
// One process per service, as in production, and the layout of `make up` on a small machine.
for (const name of ["apart", "core"] as const) measured.push(await measure(name));
const slowest = Math.max(...measured.flatMap(({ readyMs }) => readyMs));
const largest = Math.max(...measured.flatMap(({ residentMib }) => residentMib));
const upMs = Math.max(...measured.map((one) => one.upMs));
const rows: Row[] = [
  row("memory of one idle service process", "MB", largest, MEMORY_MAX_MIB, MEMORY_AIM_MIB),
  row("one process ready, started alone", "ms", slowest, READY_MAX_MS, READY_MAX_MS),
  row("the stack ready, servers and data included", "ms", upMs, STACK_MAX_MS, STACK_MAX_MS),
];
report("memory", rows);

async function measure(layout: keyof typeof PROCESS_LAYOUTS): Promise<Measured> {
  const processes: readonly ServiceProcess[] = PROCESS_LAYOUTS[layout];
  const begunMs = performance.now();
  const stack = await startTestStack({ processes });
  const upMs = performance.now() - begunMs;
  try {
    const ready: number[] = [];
    for (const { name } of processes) {
      await stack.restart(name);
      ready.push(readyAfterMs(stack, name));
    }
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    process.stdout.write(`PROCESSES=${layout}\n`);
    const residentMib = processes.map(({ name }, at) => {
      const { residentMib, shareMib } = readProcessMemory(stack.pid(name));
      process.stdout.write(
        `  ${name.padEnd(12)} ready ${Math.round(ready[at] ?? 0)} ms   ` +
          `resident ${residentMib.toFixed(0)} MB   own share ${shareMib.toFixed(0)} MB\n`,
      );
      return residentMib;
    });
    return { upMs, readyMs: ready, residentMib };
  } finally {
    await stack.stop();
  }
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
function readyAfterMs(from: TestStack, name: string): number {
  const log = readFileSync(join(layoutOf(from.dir).logDir, `${name}.log`), "utf8");
  const found = [...log.matchAll(/"startedMs":(\d+)/g)].at(-1)?.[1];
  return Number(found ?? Number.NaN);
}
