import { join } from "node:path";
import { ensureCertificates, type TlsFiles } from "./certificates.ts";
import { type Layout, logFileOf, ROOT, SERVERS_DIR } from "./paths.ts";
import { noteProcess } from "./pid-files.ts";
import { pollUntil } from "./poll.ts";
import { portOf } from "./port-layout.ts";
import { answersOk, readyUrl } from "./probes.ts";
import {
  argumentsOf,
  fixedSettings,
  LEAN_START,
  RECEIVER,
  type StackPlan,
  stackSettings,
} from "./process-table.ts";
import {
  endProcess,
  isRunning,
  lastLines,
  type ProcessRecord,
  runToEnd,
  startProcess,
} from "./processes.ts";
import { rpcSettings } from "./rpc-callers.ts";
import { type StackSecrets, stackSecrets } from "./secrets.ts";
import type { ServerName } from "./server-table.ts";
import { startServer } from "./servers.ts";
import { StackError } from "./stack-error.ts";
import type { StackState } from "./stack-file.ts";

/** A stack during start, restart or inspection. */
export type Launcher = {
  readonly layout: Layout;
  readonly state: StackState;
  readonly tls: TlsFiles;
  readonly secrets: StackSecrets;
  readonly hasSmallJournal: boolean;
  /** The pinned Node's path. */
  readonly node: string;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal | undefined;
  /** Called for every process as soon as it exists. */
  readonly onStart: (record: ProcessRecord) => void;
};

const READY_TIMEOUT_MS = 60_000;

/** Collects the inputs for starting a stack's processes; creates secrets and certificates on first use. */
export function createLauncher(
  layout: Layout,
  state: StackState,
  options: {
    readonly progress?: (line: string) => void;
    readonly signal?: AbortSignal | undefined;
    readonly onStart?: (record: ProcessRecord) => void;
    readonly hasSmallJournal?: boolean | undefined;
  } = {},
): Launcher {
  return {
    layout,
    state,
    tls: ensureCertificates(layout.tlsDir),
    secrets: stackSecrets(layout.secretsFile),
    hasSmallJournal: options.hasSmallJournal === true,
    node: process.execPath,
    progress: options.progress ?? (() => {}),
    signal: options.signal,
    onStart(record) {
      noteProcess(layout.runDir, record);
      options.onStart?.(record);
    },
  };
}

/** Starts an embedded server and waits until it serves. */
export async function launchServer(launcher: Launcher, name: ServerName): Promise<void> {
  const { layout, state, progress, signal } = launcher;
  const begunMs = performance.now();
  await startServer({
    name,
    port: portOf(state.portBase, name),
    dataDir: join(layout.dataDir, name),
    logFile: logFileOf(layout, name),
    serversDir: SERVERS_DIR,
    hasSmallJournal: launcher.hasSmallJournal,
    progress,
    onStart: launcher.onStart,
    ...(signal === undefined ? {} : { signal }),
  });
  progress(readyLine(name, portOf(state.portBase, name), begunMs));
}

/** Starts a Node process and waits for its `/readyz`; stops the process if it exits or hangs instead. */
export async function launchProcess(launcher: Launcher, name: string): Promise<void> {
  const { layout, signal, progress } = launcher;
  const begunMs = performance.now();
  signal?.throwIfAborted();
  const record = await spawnProcess(launcher, name);
  const url = readyUrl(launcher.state, name);
  const ready = await pollUntil(
    async () => {
      signal?.throwIfAborted();
      return !isRunning(record) || (await answersOk(url));
    },
    READY_TIMEOUT_MS,
    100,
  );
  if (ready === undefined || !isRunning(record)) {
    await endProcess(record, 2_000);
    const what = ready === undefined ? "was not ready in time" : "ended at its start";
    const log = logFileOf(layout, name);
    throw new StackError(`${name} ${what}; the end of ${log}:\n${lastLines(log, 6)}`);
  }
  progress(readyLine(name, Number(new URL(url).port), begunMs));
}

/** Starts a Node process without waiting. */
export async function spawnProcess(launcher: Launcher, name: string): Promise<ProcessRecord> {
  const record = await startProcess({
    name,
    program: launcher.node,
    args: argumentsOf(planOf(launcher), name),
    cwd: ROOT,
    env: environmentOf(launcher, name),
    logFile: logFileOf(launcher.layout, name),
  });
  launcher.onStart(record);
  return record;
}

/** Runs `node services/main.ts migrate` to its end: indexes, validators, streams. */
export async function runMigration(launcher: Launcher): Promise<void> {
  const begunMs = performance.now();
  const logFile = logFileOf(launcher.layout, "migrate");
  launcher.signal?.throwIfAborted();
  const code = await runToEnd(
    {
      name: "migrate",
      program: launcher.node,
      args: [...LEAN_START, join(ROOT, "services/main.ts"), "migrate"],
      cwd: ROOT,
      env: environmentOf(launcher, "migrate"),
      logFile,
    },
    READY_TIMEOUT_MS,
    launcher.signal,
  );
  if (code !== 0) {
    throw new StackError(`migrate failed; the end of ${logFile}:\n${lastLines(logFile, 6)}`);
  }
  launcher.progress(`${"migrated".padEnd(16)} ${"".padEnd(6)}${seconds(begunMs)}`);
}

/** Strips the services' types before they start. A failure costs only memory. */
export async function stripTypes(launcher: Launcher): Promise<void> {
  const name = "strip-types";
  await runToEnd(
    {
      name,
      program: launcher.node,
      args: [join(ROOT, "services/strip-types-cache.mjs")],
      cwd: ROOT,
      env: environmentOf(launcher, name),
      logFile: logFileOf(launcher.layout, name),
    },
    READY_TIMEOUT_MS,
    launcher.signal,
  );
}

/** The environment of a process: the machine's own, the stack's settings, the fixed ones. */
function environmentOf(launcher: Launcher, name: string): Record<string, string> {
  const { layout, state, tls } = launcher;
  const plan = planOf(launcher);
  return {
    ...machineEnvironment(process.env),
    ...stackSettings(plan, state.settings),
    ...fixedSettings(plan, name),
    ...rpcSettings(plan.secrets.rpcToken, state.settings, plan.processes, name),
    ...(name === RECEIVER ? receiverSettings(layout, state, tls) : {}),
  };
}

function planOf({ layout, state, tls, secrets }: Launcher): StackPlan {
  return {
    portBase: state.portBase,
    processes: state.processes,
    urls: state.urls,
    secrets,
    dataDir: layout.dataDir,
    caFile: tls.caFile,
  };
}

function receiverSettings(layout: Layout, { portBase }: StackState, tls: TlsFiles) {
  return {
    RECEIVER_PORT: String(portOf(portBase, "receiver")),
    RECEIVER_EVENTS_PORT: String(portOf(portBase, "receiver-events")),
    RECEIVER_MAIL_PORT: String(portOf(portBase, "mail")),
    RECEIVER_CERT_FILE: tls.certFile,
    RECEIVER_KEY_FILE: tls.keyFile,
    RECEIVER_SECRETS_FILE: layout.receiverSecretsFile,
  };
}

const MACHINE_SETTINGS =
  /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|OTEL_\w+)$/;

function machineEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && MACHINE_SETTINGS.test(name)) kept[name] = value;
  }
  return kept;
}

function readyLine(name: string, port: number, begunMs: number): string {
  return `${name.padEnd(16)} ${String(port).padEnd(6)}${seconds(begunMs)}`;
}

function seconds(begunMs: number): string {
  return `${((performance.now() - begunMs) / 1000).toFixed(1)} s`;
}
