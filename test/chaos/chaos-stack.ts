/**
 * The run's own stack: folder, ports, and a proxy on every link between two processes. Like an
 * orchestrator, it restarts a process that exits by itself after a second, and records the exit.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readJson } from "../../deploy/dev/json-file.ts";
import {
  createLauncher,
  type Launcher,
  launchServer,
  spawnProcess,
} from "../../deploy/dev/launch.ts";
import { layoutOf } from "../../deploy/dev/paths.ts";
import { runningProcesses } from "../../deploy/dev/pid-files.ts";
import { pollUntil } from "../../deploy/dev/poll.ts";
import { grpcPort, PORTS_OF_A_STACK, portOf } from "../../deploy/dev/port-layout.ts";
import { freePortRange, freePorts } from "../../deploy/dev/ports.ts";
import { answersOk, readyUrl } from "../../deploy/dev/probes.ts";
import { SMSC_SIMULATOR } from "../../deploy/dev/process-table.ts";
import { endProcess, isRunning, killProcess } from "../../deploy/dev/processes.ts";
import type { ServerName } from "../../deploy/dev/server-table.ts";
import type { StackFile, StackState } from "../../deploy/dev/stack-file.ts";
import { startStack } from "../../deploy/dev/start-stack.ts";
import { stopProcesses } from "../../deploy/dev/stop-stack.ts";
import { createGuard } from "../support/process-guard.ts";
import { openTcpProxy, renameMongoHost, type TcpProxy } from "../support/tcp-proxy.ts";
import { type Disks, keepData, mountDisks } from "./disks.ts";
import { DISKS } from "./plan.ts";
import { LINKS, PROCESSES, processTable, SECOND_SMSC, SERVERS } from "./topology.ts";

/** A process that exited without a fault of the plan. */
export type Crash = { readonly name: string; readonly atMs: number };

/** The stack of a run. */
export type ChaosStack = {
  readonly dir: string;
  readonly file: StackFile;
  readonly state: StackState;
  /** The second carrier's control port. */
  readonly secondControl: string;
  readonly links: ReadonlyMap<string, TcpProxy>;
  readonly disks: Disks;
  readonly crashes: readonly Crash[];
  /** kill -9 without a restart; returns whether it ran. */
  kill(name: string): Promise<boolean>;
  /** Stops it gracefully without a restart; returns whether it ran. */
  end(name: string): Promise<boolean>;
  /** Starts a stopped process; returns when it runs, ready or not. */
  start(name: string): Promise<void>;
  /** SIGSTOP and SIGCONT; returns whether it runs. */
  signal(name: string, signal: "SIGSTOP" | "SIGCONT"): boolean;
  /** Shifts a process's wall clock by this much. */
  stepClock(name: string, byMs: number): void;
  /** Waits until every process is ready; returns the names of those that are not in time. */
  waitUntilReady(timeoutMs: number): Promise<string[]>;
  stop(): Promise<void>;
};

/** The waits between attempts of a webhook delivery. */
export const RETRY_DELAYS_MS = [1000, 2000, 5000, 8000, 12_000, 12_000];

/** Its attempts. */
export const ATTEMPTS = RETRY_DELAYS_MS.length + 1;

/** Short waits for a test; the rules stay the same. */
const SETTINGS: Readonly<Record<string, string>> = {
  LOG_LEVEL: "info",
  SEND_AT_MIN_MS: "2000",
  SUBMISSION_UNKNOWN_WAIT_MS: "12000",
  RECEIPT_WAIT_MS: "25000",
  SETTLEMENT_GRACE_MS: "15000",
  CLAIM_LEASE_MS: "24000",
  WEBHOOK_RETRY_DELAYS_MS: RETRY_DELAYS_MS.join(),
  WEBHOOK_TIMEOUT_MS: "4000",
};

const REMOVAL = { recursive: true, force: true } as const;

/** The receivers' links, which webhooks may use in addition to the allowed ports. */
const RECEIVERS_LINK = "webhook>receivers";

/** Starts the stack; `receiversPort` is where the customers' webhook servers listen. */
export async function startChaosStack(dir: string, receiversPort: number): Promise<ChaosStack> {
  const layout = layoutOf(dir);
  const guard = createGuard(layout.dataDir);
  const links = new Map<string, TcpProxy>();
  for (const { name, to } of LINKS) {
    links.set(name, await openTcpProxy(to === "mongod" ? renameMongoHost : undefined));
  }
  const portOfLink = (name: string) => links.get(name)?.port ?? 0;
  const portBase = await freePortRange(PORTS_OF_A_STACK);
  const [secondPort = 0, secondControlPort = 0] = await freePorts(2);
  const disks = await mountDisks(layout.dataDir, DISKS);
  const clockDir = join(dir, "clocks");
  mkdirSync(clockDir, { recursive: true });
  const clockFile = (process: string) => join(clockDir, process);
  const second = { SMSC_PORT: String(secondPort), SMSC_CONTROL_PORT: String(secondControlPort) };
  const processes = processTable(portOfLink, (name) =>
    name === SECOND_SMSC
      ? second
      : {
          CARRIER_ID: name,
          WEBHOOK_INSTANCE: name,
          CHAOS_CLOCK_FILE: clockFile(name),
          NODE_OPTIONS: `--import=${new URL("./clock-step.ts", import.meta.url).href}`,
        },
  );
  aimLinks(links, portBase, { receivers: receiversPort, [SECOND_SMSC]: secondPort });
  const stopProxies = () => Promise.all([...links.values()].map((proxy) => proxy.close()));
  const ports = [8443, portOf(portBase, "receiver"), portOfLink(RECEIVERS_LINK)];
  try {
    const file = await startStack({
      dir,
      env: {
        ...SETTINGS,
        WEBHOOK_ALLOWED_PORTS: ports.join(","),
        PORT_BASE: String(portBase),
      },
      processes,
      onStart: guard.add,
    });
    const state = readJson<StackState>(layout.stateFile) as StackState;
    const launcher = createLauncher(layout, state, { onStart: guard.add });
    const keeper = createKeeper(launcher);
    return {
      dir,
      file: { ...file, gateway: `http://127.0.0.1:${portOfLink("customers>gateway")}` },
      state,
      secondControl: `http://127.0.0.1:${secondControlPort}`,
      links,
      disks,
      ...keeper,
      stepClock: (name, byMs) => writeFileSync(clockFile(name), String(byMs)),
      async stop() {
        await keeper.close();
        await stopProcesses(layout);
        guard.dismiss();
        await stopProxies();
        if (process.env.KEEP === "1") await keepData(layout.dataDir, join(dir, "kept"));
        // Mount points cannot be removed; the namespace takes their contents with it.
        const folders = [layout.dataDir, clockDir];
        for (const folder of folders) await rm(folder, REMOVAL).catch(() => undefined);
      },
    };
  } catch (error) {
    await stopProcesses(layout);
    guard.dismiss();
    await stopProxies();
    throw error;
  }
}

function aimLinks(
  links: Map<string, TcpProxy>,
  portBase: number,
  outside: Readonly<Record<string, number>>,
): void {
  const ports: Record<string, number> = {
    ...outside,
    smsc: portOf(portBase, "smsc"),
    gateway: portOf(portBase, "gateway"),
  };
  for (const server of SERVERS) ports[server] = portOf(portBase, server);
  PROCESSES.forEach(({ name }, place) => {
    ports[name] ??= grpcPort(portBase, place);
  });
  for (const { name, to } of LINKS) links.get(name)?.aimAt(ports[to] ?? 0);
}

/** Restarts processes that exit by themselves. */
function createKeeper(launcher: Launcher) {
  const { layout } = launcher;
  const services = PROCESSES.map(({ name }) => name);
  const names = [...SERVERS, SMSC_SIMULATOR, SECOND_SMSC, ...services];
  const wanted = new Set<string>(names);
  const starting = new Set<string>();
  const crashes: Crash[] = [];
  const halt = new AbortController();
  const record = (name: string) => runningProcesses(layout.runDir).get(name);

  async function start(name: string): Promise<void> {
    if (starting.has(name) || record(name) !== undefined) return;
    starting.add(name);
    try {
      if (SERVERS.includes(name as ServerName)) await launchServer(launcher, name as ServerName);
      else await spawnProcess(launcher, name);
    } finally {
      starting.delete(name);
    }
  }

  async function watch(): Promise<void> {
    while (!halt.signal.aborted) {
      await sleep(1000);
      const running = runningProcesses(layout.runDir);
      for (const name of wanted) {
        if (halt.signal.aborted || running.has(name) || starting.has(name)) continue;
        crashes.push({ name, atMs: Date.now() });
        start(name).catch(() => undefined);
      }
    }
  }
  const watching = watch();

  return {
    crashes,
    async kill(name: string) {
      wanted.delete(name);
      const found = record(name);
      if (found !== undefined) await killProcess(found);
      return found !== undefined;
    },
    async end(name: string) {
      wanted.delete(name);
      const found = record(name);
      if (found !== undefined) await endProcess(found, 15_000);
      return found !== undefined;
    },
    async start(name: string) {
      await start(name).catch(() => undefined);
      wanted.add(name);
    },
    signal(name: string, signal: "SIGSTOP" | "SIGCONT") {
      const found = record(name);
      if (found === undefined || !isRunning(found)) return false;
      return process.kill(found.pid, signal);
    },
    async waitUntilReady(timeoutMs: number) {
      let unready = services;
      await pollUntil(
        async () => {
          const urls = services.map((name) => readyUrl(launcher.state, name));
          const ready = await Promise.all(urls.map(answersOk));
          unready = services.filter((_, at) => ready[at] !== true);
          return unready.length === 0;
        },
        timeoutMs,
        250,
      );
      return unready;
    },
    async close() {
      halt.abort();
      await watching;
    },
  };
}
