import { readJson, writeJson } from "./json-file.ts";
import { createLauncher, launchProcess, launchServer } from "./launch.ts";
import { type Layout, layoutOf } from "./paths.ts";
import { runningProcesses } from "./pid-files.ts";
import { embeddedServers, processNames } from "./process-names.ts";
import { processCalled } from "./process-table.ts";
import { STACK_IS_DOWN } from "./running-stack.ts";
import { SERVERS, type ServerName } from "./server-table.ts";
import { settingsIn } from "./settings.ts";
import { StackError } from "./stack-error.ts";
import { pidsOf, type StackFile, type StackState } from "./stack-file.ts";
import { withStackLock } from "./stack-lock.ts";
import { refuseOthers, type StartOptions } from "./start-stack.ts";
import { stopProcesses } from "./stop-stack.ts";

export type RestartOptions = Pick<
  StartOptions,
  "dir" | "env" | "progress" | "onStart" | "hasSmallJournal"
>;

/**
 * Ends and starts one process or embedded server of a stack, or only starts it when it is dead, and
 * rewrites `pids` in stack.json. Settings in `env` are added to those kept from `make up`.
 */
export async function restartProcess(typed: string, options: RestartOptions): Promise<void> {
  const layout = layoutOf(options.dir);
  await withStackLock(layout, () => restart(layout, typed, options));
}

async function restart(layout: Layout, typed: string, options: RestartOptions): Promise<void> {
  const kept = readJson<StackState>(layout.stateFile);
  const running = runningProcesses(layout.runDir);
  if (kept === undefined || running.size === 0) throw new StackError(STACK_IS_DOWN);
  refuseOthers(options.env, layout, kept);
  const state: StackState = {
    ...kept,
    settings: { ...kept.settings, ...settingsIn(options.env) },
  };
  const name = processCalled(state.processes, typed);
  const names = processNames(state);
  if (!names.includes(name)) {
    throw new StackError(`no process is called "${typed}": S= takes ${names.join(", ")}`);
  }
  const missing = embeddedServers(state).find((one) => one !== name && !running.has(one));
  if (missing !== undefined && !(name in SERVERS)) {
    throw new StackError(
      `${missing} is down, which ${name} needs: make restart S=${missing} first`,
    );
  }
  writeJson(layout.stateFile, state);
  await stopProcesses(layout, new Set([name]), options.progress);
  const launcher = createLauncher(layout, state, options);
  try {
    if (name in SERVERS) await launchServer(launcher, name as ServerName);
    else await launchProcess(launcher, name);
  } finally {
    const file = readJson<StackFile>(layout.stackFile);
    const pids = pidsOf(layout, state.processes);
    if (file !== undefined) writeJson(layout.stackFile, { ...file, pids });
  }
}
