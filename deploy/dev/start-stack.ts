import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { requireDiskSpace } from "./disk-space.ts";
import { requireExternalServers } from "./external-servers.ts";
import { readJson, writeJson } from "./json-file.ts";
import {
  createLauncher,
  type Launcher,
  launchProcess,
  launchServer,
  runMigration,
  stripTypes,
} from "./launch.ts";
import { type Layout, layoutOf } from "./paths.ts";
import { runningProcesses } from "./pid-files.ts";
import {
  DEFAULT_PORT_BASE,
  grpcPort,
  opsPort,
  portBaseIn,
  portOf,
  requireFreePorts,
} from "./port-layout.ts";
import { embeddedServers } from "./process-names.ts";
import {
  gatewayPort,
  placeOf,
  processLayout,
  RECEIVER,
  type ServiceProcess,
  SMSC_SIMULATOR,
} from "./process-table.ts";
import type { StackSecrets } from "./secrets.ts";
import { seed } from "./seed.ts";
import { SERVERS, type ServerName } from "./server-table.ts";
import { serverUrl } from "./servers.ts";
import { settingsIn } from "./settings.ts";
import { StackError } from "./stack-error.ts";
import { type StackFile, type StackState, stackFile } from "./stack-file.ts";
import { withStackLock } from "./stack-lock.ts";
import { stopProcesses } from "./stop-stack.ts";

export type StartOptions = {
  /** The stack's folder; by default `.local` of the repository. */
  readonly dir?: string;
  /** PORT_BASE, the servers' addresses and the settings of the services. */
  readonly env: NodeJS.ProcessEnv;
  readonly processes?: readonly ServiceProcess[];
  readonly progress?: (line: string) => void;
  readonly onStart?: Launcher["onStart"];
  /** Benchmarks and tests have MongoDB's own journal. */
  readonly hasSmallJournal?: boolean;
  /** Aborting stops the processes started so far. */
  readonly signal?: AbortSignal;
};

/**
 * Starts the missing processes of the stack, seeds it, and writes stack.json. On failure it stops the
 * processes it started and throws the reason.
 */
export async function startStack(options: StartOptions): Promise<StackFile> {
  const layout = layoutOf(options.dir);
  // Before the first write, which is the lock.
  if (runningProcesses(layout.runDir).size === 0) {
    requireDiskSpace(layout, !options.env.MONGODB_URI);
  }
  return withStackLock(layout, () => start(layout, options), options.signal);
}

async function start(layout: Layout, options: StartOptions): Promise<StackFile> {
  const running = runningProcesses(layout.runDir);
  const isRunning = running.size > 0;
  const before = isRunning ? readJson<StackState>(layout.stateFile) : undefined;
  const state = nextState(options, layout, isRunning);
  await requireFreePorts(wantedPorts(state, new Set(running.keys())));
  await requireExternalServers(state);
  if (!isRunning) await setLogsAside(layout);
  options.signal?.throwIfAborted();
  writeJson(layout.stateFile, state);
  const changed = changedSettings(before, state);
  if (changed.length > 0) options.progress?.(unheardLine(changed));

  const started = new Set<string>();
  const halt = new AbortController();
  options.signal?.addEventListener("abort", () => halt.abort(options.signal?.reason));
  const launcher = createLauncher(layout, state, {
    ...(options.progress === undefined ? {} : { progress: options.progress }),
    signal: halt.signal,
    hasSmallJournal: options.hasSmallJournal,
    onStart(record) {
      started.add(record.name);
      options.onStart?.(record);
    },
  });
  try {
    await launchMissing(launcher, new Set(running.keys()), halt);
    const seeded = await seed(launcher);
    const file = stackFile(layout, state, launcher.tls, launcher.secrets, seeded);
    writeJson(layout.stackFile, file);
    return file;
  } catch (error) {
    await stopProcesses(layout, started);
    throw error;
  }
}

/** Plans the stack from the environment and the running processes. */
export function nextState(
  options: Pick<StartOptions, "env" | "processes">,
  layout: Layout,
  isRunning: boolean,
): StackState {
  const { env, processes = processLayout(env) } = options;
  const kept = isRunning ? readJson<StackState>(layout.stateFile) : undefined;
  const asked = portBaseIn(env);
  if (kept !== undefined && asked !== undefined && asked !== kept.portBase) {
    throw new StackError(
      `this clone's stack runs on PORT_BASE ${kept.portBase}: make down first, then up on ${asked}`,
    );
  }
  const isLaidOutAnew =
    kept !== undefined &&
    env.PROCESSES !== undefined &&
    !isDeepStrictEqual(kept.processes, processes);
  if (isLaidOutAnew) {
    const how = `PROCESSES=${env.PROCESSES}`;
    throw new StackError(
      `this clone's stack has its services in other processes: make down first, then up with ${how}`,
    );
  }
  refuseOthers(env, layout, kept);
  const portBase = kept?.portBase ?? asked ?? DEFAULT_PORT_BASE;
  const external = Object.values(SERVERS).filter(
    ({ name, urlSetting }) => kept?.external.includes(name) ?? Boolean(env[urlSetting]),
  );
  const isExternal = (name: ServerName) => external.some((kind) => kind.name === name);
  const urlOf = (name: ServerName, keptUrl: string | undefined) =>
    keptUrl ??
    (isExternal(name) ? env[SERVERS[name].urlSetting] : undefined) ??
    serverUrl(name, portOf(portBase, name));
  return {
    portBase,
    processes: kept?.processes ?? processes,
    settings: { ...kept?.settings, ...settingsIn(env) },
    urls: {
      mongodb: urlOf("mongod", kept?.urls.mongodb),
      nats: urlOf("nats-server", kept?.urls.nats),
      redis: urlOf("redis", kept?.urls.redis),
    },
    external: external.map(({ name }) => name),
  };
}

/** A running stack cannot move to other servers, and its services know each other by one token. */
export function refuseOthers(
  env: NodeJS.ProcessEnv,
  layout: Layout,
  kept: StackState | undefined,
): void {
  if (kept === undefined) return;
  const { mongodb, nats, redis } = kept.urls;
  const token = kept.settings.RPC_TOKEN ?? readJson<StackSecrets>(layout.secretsFile)?.rpcToken;
  const now = { MONGODB_URI: mongodb, NATS_URL: nats, REDIS_URL: redis, RPC_TOKEN: token };
  for (const [name, value] of Object.entries(now)) {
    const asked = env[name] || undefined;
    if (asked === undefined || asked === value) continue;
    throw new StackError(`this clone's stack runs with another ${name}: make down first, then up`);
  }
}

/** The settings that a running stack does not have. */
export function changedSettings(before: StackState | undefined, next: StackState): string[] {
  if (before === undefined) return [];
  return Object.keys(next.settings).filter((name) => next.settings[name] !== before.settings[name]);
}

function unheardLine(names: readonly string[]): string {
  return (
    `what runs already does not know ${names.join(", ")} yet: ` +
    "make restart S=<name> tells one process, make down and make up all of them"
  );
}

async function launchMissing(
  launcher: Launcher,
  running: ReadonlySet<string>,
  halt: AbortController,
): Promise<void> {
  const { state } = launcher;
  const isMissing = (name: string) => !running.has(name);
  const servers = embeddedServers(state).filter(isMissing);
  const services = state.processes.map(({ name }) => name).filter(isMissing);
  // The simulators need no servers, so they start in parallel with them.
  const outside = [SMSC_SIMULATOR, RECEIVER]
    .filter(isMissing)
    .map((name) => launchProcess(launcher, name));
  const inside = servers.map((name) => launchServer(launcher, name));
  await settleAll(halt, [...outside, ...inside, stripTypes(launcher)]);
  if (servers.length === 0 && services.length === 0) return;
  await runMigration(launcher);
  await settleAll(
    halt,
    services.map((name) => launchProcess(launcher, name)),
  );
}

/** Waits for all. The first failure stops the others, so that nothing starts after the report. */
async function settleAll(halt: AbortController, work: readonly Promise<void>[]): Promise<void> {
  await Promise.all(work.map((one) => one.catch((error: unknown) => halt.abort(error))));
  halt.signal.throwIfAborted();
}

function wantedPorts(state: StackState, running: ReadonlySet<string>): Map<number, string> {
  const { portBase, processes } = state;
  const wanted = new Map<number, string>();
  const want = (port: number, user: string) => void (running.has(user) || wanted.set(port, user));
  for (const name of embeddedServers(state)) want(portOf(portBase, name), name);
  for (const { name } of [...processes, { name: SMSC_SIMULATOR }]) {
    want(opsPort(portBase, placeOf(state, name)), name);
    want(grpcPort(portBase, placeOf(state, name)), name);
  }
  for (const [place, { name, services }] of processes.entries()) {
    if (services.includes("gateway")) want(gatewayPort(state, place), name);
  }
  want(portOf(portBase, "smsc"), SMSC_SIMULATOR);
  want(portOf(portBase, "smsc-control"), SMSC_SIMULATOR);
  want(portOf(portBase, "receiver"), RECEIVER);
  want(portOf(portBase, "receiver-events"), RECEIVER);
  want(portOf(portBase, "mail"), RECEIVER);
  return wanted;
}

/** Starts with empty logs and keeps those of the last run under another name. */
async function setLogsAside(layout: Layout): Promise<void> {
  const previous = `${layout.logDir}.previous`;
  if (existsSync(layout.logDir)) {
    await rm(previous, { recursive: true, force: true });
    await rename(layout.logDir, previous);
  }
  await mkdir(layout.logDir, { recursive: true });
}
