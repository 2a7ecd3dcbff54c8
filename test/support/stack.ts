import { rm } from "node:fs/promises";
import { readJson } from "../../deploy/dev/json-file.ts";
import { layoutOf } from "../../deploy/dev/paths.ts";
import { runningProcesses } from "../../deploy/dev/pid-files.ts";
import { PORTS_OF_A_STACK } from "../../deploy/dev/port-layout.ts";
import { freePortRange } from "../../deploy/dev/ports.ts";
import { SERVICE_PROCESSES, type ServiceProcess } from "../../deploy/dev/process-table.ts";
import { killProcess } from "../../deploy/dev/processes.ts";
import { restartProcess } from "../../deploy/dev/restart-stack.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { startStack } from "../../deploy/dev/start-stack.ts";
import { stopProcesses } from "../../deploy/dev/stop-stack.ts";
import { createGuard } from "./process-guard.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A whole stack of a test's own: servers, services, simulator and receiver, seeded like `make up` does it. */
export type TestStack = StackFile & {
  /** The folder that a stack usually keeps in `.local`: logs, data, stack.json. */
  readonly dir: string;
  /** The pid that a process has now. */
  readonly pid: (name: string) => number;
  /** Ends and starts a process or server; more settings may be given, and stay. */
  readonly restart: (
    name: string,
    settings?: Readonly<Record<string, string>>,
    progress?: (line: string) => void,
  ) => Promise<void>;
  /** kill -9. */
  readonly kill: (name: string) => Promise<void>;
  /** Ends everything and removes the folder. */
  readonly stop: () => Promise<void>;
};

/** All services in one process: the fastest start, for tests that kill nothing. */
export const ONE_PROCESS: readonly ServiceProcess[] = [
  { name: "services", services: SERVICE_PROCESSES.flatMap(({ services }) => services) },
];

/** Another stack that starts at the same time may take one of the ports that were free. */
const STARTS_MAX = 3;

/** Starts a stack on free ports in a folder of its own; `settings` reach every process of it. */
export async function startTestStack(
  options: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly processes?: readonly ServiceProcess[];
  } = {},
  triesLeft = STARTS_MAX - 1,
): Promise<TestStack> {
  const dir = temporaryFolder("stack");
  const layout = layoutOf(dir);
  const guard = createGuard(dir);
  const portBase = await freePortRange(PORTS_OF_A_STACK);
  const stop = async () => {
    await stopProcesses(layout);
    guard.dismiss();
    await rm(dir, { recursive: true, force: true });
  };
  let stack: StackFile;
  try {
    stack = await startStack({
      dir,
      // Tests run at every time of the day.
      env: { QUIET_HOURS: "none", ...options.settings, PORT_BASE: String(portBase) },
      onStart: guard.add,
      // A test that kills one service needs one process per service on every machine.
      processes: options.processes ?? SERVICE_PROCESSES,
    });
  } catch (error) {
    await stop();
    if (triesLeft > 0 && String(error).includes("EADDRINUSE")) {
      return startTestStack(options, triesLeft - 1);
    }
    throw error;
  }
  return {
    ...stack,
    dir,
    stop,
    pid: (name) => readJson<StackFile>(layout.stackFile)?.pids[name] ?? 0,
    restart: (name, settings = {}, progress = () => {}) =>
      restartProcess(name, { dir, env: settings, onStart: guard.add, progress }),
    async kill(name) {
      const record = runningProcesses(layout.runDir).get(name);
      if (record === undefined) throw new Error(`${name} does not run`);
      await killProcess(record);
    },
  };
}
