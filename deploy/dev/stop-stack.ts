import type { Layout } from "./paths.ts";
import { forgetProcess, notedProcesses } from "./pid-files.ts";
import { PROCESS_LAYOUTS, RECEIVER, type ServiceProcess, SMSC_SIMULATOR } from "./process-table.ts";
import { endProcess, isRunning, type ProcessRecord } from "./processes.ts";
import { SERVERS } from "./server-table.ts";

/** Services drain for up to 25 s; allow slightly more before killing them. */
const GRACE_MS = 30_000;

/** The processes that accept requests, by layout; a further replica is `gateway-2`. */
const DOORS: ReadonlySet<string> = new Set(
  Object.values<readonly ServiceProcess[]>(PROCESS_LAYOUTS)
    .flat()
    .filter(({ services }) => services.includes("gateway"))
    .map(({ name }) => name),
);

/** The order of stopping: gateway, services, simulators, servers. */
export function tierOf(name: string): number {
  if (DOORS.has(name) || name.startsWith("gateway")) return 0;
  if (name in SERVERS) return 3;
  return name === SMSC_SIMULATOR || name === RECEIVER ? 2 : 1;
}

/** Stops the recorded processes of a stack (only those in `names`, if given); returns their names. */
export async function stopProcesses(
  layout: Layout,
  names?: ReadonlySet<string>,
  progress: (line: string) => void = () => {},
): Promise<string[]> {
  const records = notedProcesses(layout.runDir).filter(({ name }) => names?.has(name) ?? true);
  for (const tier of [0, 1, 2, 3]) {
    await Promise.all(
      records
        .filter(({ name }) => tierOf(name) === tier)
        .map((record) => stopProcess(layout, record, progress)),
    );
  }
  return records.map(({ name }) => name);
}

async function stopProcess(
  layout: Layout,
  record: ProcessRecord,
  progress: (line: string) => void,
): Promise<void> {
  const wasRunning = isRunning(record);
  const how = wasRunning ? await endProcess(record, GRACE_MS) : "had ended before";
  forgetProcess(layout.runDir, record.name);
  progress(`${record.name.padEnd(16)} ${how}`);
}
