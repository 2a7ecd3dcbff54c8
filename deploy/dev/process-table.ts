import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./paths.ts";
import { grpcPort, opsPort, portOf } from "./port-layout.ts";
import type { ServerName } from "./server-table.ts";
import { StackError } from "./stack-error.ts";

/**
 * A service process: its name in `make restart S=…`, and the services that it runs. A further
 * replica of a service has a row of its own, with the settings in which it differs.
 */
export type ServiceProcess = {
  readonly name: string;
  readonly services: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
};

/** One process each. Services named in one row share a process and call each other in memory. */
export const SERVICE_PROCESSES: readonly ServiceProcess[] = [
  { name: "tenant", services: ["tenant"] },
  { name: "sender-id", services: ["sender-id"] },
  { name: "wallet", services: ["wallet"] },
  { name: "routing", services: ["routing"] },
  { name: "messaging", services: ["messaging"] },
  { name: "carrier", services: ["carrier"] },
  { name: "webhook", services: ["webhook"] },
  { name: "gateway", services: ["gateway"] },
  { name: "campaign", services: ["campaign"] },
  { name: "consent", services: ["consent"] },
  { name: "operator-console", services: ["operator-console"] },
];

/** Has its own event loop in every layout, so that webhooks do not delay messages. */
const WEBHOOK = "webhook";

/**
 * How services are spread over processes (ADR 63). Each in its own process, as in production. Or, for small
 * machines: the services on the path of every send in the process `core`, those called in batches in
 * `directory`, and the carrier apart, so that its links survive restarts of both. The operators' console runs beside
 * the webhooks, which have memory to spare. Or all but one together.
 */
export const PROCESS_LAYOUTS = {
  apart: SERVICE_PROCESSES,
  core: [
    {
      name: "directory",
      services: ["tenant", "sender-id", "routing", "wallet", "campaign", "consent"],
    },
    { name: "core", services: ["messaging", "gateway"] },
    { name: "carrier", services: ["carrier"] },
    { name: WEBHOOK, services: [WEBHOOK, "operator-console"] },
  ],
  together: [
    {
      name: "services",
      services: SERVICE_PROCESSES.filter(({ name }) => name !== WEBHOOK).flatMap(
        ({ services }) => services,
      ),
    },
    { name: WEBHOOK, services: [WEBHOOK] },
  ],
} as const satisfies Record<string, readonly ServiceProcess[]>;

/** A machine with at most this many processors is small. */
const FEW_CORES = 2;

/** The layout of `PROCESSES` in the environment; by default the one for this machine. */
export function processLayout(
  env: NodeJS.ProcessEnv,
  cores = availableParallelism(),
): readonly ServiceProcess[] {
  const asked = env.PROCESSES || (cores <= FEW_CORES ? "core" : "apart");
  const layout = Object.entries(PROCESS_LAYOUTS).find(([name]) => name === asked);
  if (layout === undefined) {
    const known = Object.keys(PROCESS_LAYOUTS).join(" or ");
    throw new StackError(`PROCESSES must be ${known}, not "${asked}"`);
  }
  return layout[1];
}

/** The services that others call over gRPC, with the setting for their address. */
export const GRPC_SETTINGS: Readonly<Record<string, string>> = {
  tenant: "TENANT_GRPC",
  "sender-id": "SENDER_ID_GRPC",
  wallet: "WALLET_GRPC",
  routing: "ROUTING_GRPC",
  messaging: "MESSAGING_GRPC",
  webhook: "WEBHOOK_GRPC",
  campaign: "CAMPAIGN_GRPC",
  consent: "CONSENT_GRPC",
};

/** Simulators of the outside world: the carrier's SMSC and the customer's webhook server. */
export const SMSC_SIMULATOR = "smsc-simulator";
export const RECEIVER = "receiver";

/** Other names people use for the servers and the simulator. */
const ALIASES: Readonly<Record<string, ServerName | typeof SMSC_SIMULATOR | typeof RECEIVER>> = {
  // The customer's mailbox is in the receiver's process.
  mail: RECEIVER,
  mongodb: "mongod",
  mongo: "mongod",
  nats: "nats-server",
  "redis-server": "redis",
  "valkey-server": "redis",
  valkey: "redis",
  smsc: SMSC_SIMULATOR,
};

/** Resolves an alias to a process name. */
export function canonicalName(typed: string): string {
  return ALIASES[typed] ?? typed;
}

/** The process of a name: its own, or the one its service shares. */
export function processCalled(processes: readonly ServiceProcess[], typed: string): string {
  const name = canonicalName(typed);
  const row =
    processes.find((one) => one.name === name) ??
    processes.find(({ services }) => services.includes(name));
  return row?.name ?? name;
}

/** The inputs of every process environment. */
export type StackPlan = {
  readonly portBase: number;
  readonly processes: readonly ServiceProcess[];
  readonly urls: { readonly mongodb: string; readonly nats: string; readonly redis: string };
  readonly secrets: {
    readonly rpcToken: string;
    readonly encryptionKeys: string;
    readonly cursorKey: string;
    readonly smscPassword: string;
  };
  readonly dataDir: string;
  readonly caFile: string;
};

export const SMSC_SYSTEM_ID = "smsdev";

/** Settings of the development stack that the environment of `make up` may change. */
function defaultSettings(plan: StackPlan): Record<string, string> {
  return {
    LOG_LEVEL: "info",
    // As in the image: most of the C library's per-thread arenas would stay idle.
    MALLOC_ARENA_MAX: "2",
    ENCRYPTION_KEYS: plan.secrets.encryptionKeys,
    CURSOR_KEY: plan.secrets.cursorKey,
    // The receiver is on loopback, which webhooks reject by default.
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128",
    WEBHOOK_ALLOWED_PORTS: [
      ...new Set([443, 8443, portOf(plan.portBase, "receiver"), portOf(plan.portBase, "listen")]),
    ].join(","),
    WEBHOOK_CA_FILE: plan.caFile,
    CARRIER_ID: "carrier-dev",
    SMTP_URL: `smtp://127.0.0.1:${portOf(plan.portBase, "mail")}`,
    CONSOLE_URL: `http://localhost:${portOf(plan.portBase, "gateway")}`,
    OPERATOR_CONSOLE_URL: `http://localhost:${portOf(plan.portBase, "operator-console")}`,
  };
}

/** Lists that must keep the stack's own items: its webhook service must reach its receiver. */
const WIDENED = ["WEBHOOK_ALLOWED_NETWORKS", "WEBHOOK_ALLOWED_PORTS"] as const;

/** The stack's settings, overridden by those kept from the environment, or extended where they are lists. */
export function stackSettings(plan: StackPlan, kept: Readonly<Record<string, string>>) {
  const own = defaultSettings(plan);
  const widened = WIDENED.map((name) => [name, [own[name], kept[name]].filter(Boolean).join(",")]);
  return { ...own, ...kept, ...Object.fromEntries(widened) } as Record<string, string>;
}

/** Settings derived from the stack's plan; the environment cannot change them. */
export function fixedSettings(plan: StackPlan, name: string): Record<string, string> {
  const { portBase, processes, urls } = plan;
  const place = placeOf(plan, name);
  const addresses = Object.entries(GRPC_SETTINGS).flatMap(([service, setting]) => {
    const replicas = processes.flatMap((row, at) =>
      row.services.includes(service) ? [`127.0.0.1:${grpcPort(portBase, at)}`] : [],
    );
    return replicas.length === 0 ? [] : [[setting, replicas.join(",")]];
  });
  return {
    ...Object.fromEntries(addresses),
    MONGODB_URI: urls.mongodb,
    NATS_URL: urls.nats,
    REDIS_URL: urls.redis,
    HOST: "127.0.0.1",
    PORT: String(gatewayPort(plan, place)),
    OPERATOR_CONSOLE_HOST: "127.0.0.1",
    OPERATOR_CONSOLE_PORT: String(portOf(portBase, "operator-console")),
    CARRIER_OPS: carrierOps(plan),
    GRPC_HOST: "127.0.0.1",
    GRPC_PORT: String(grpcPort(portBase, place)),
    OPS_HOST: "127.0.0.1",
    OPS_PORT: String(opsPort(portBase, place)),
    CARRIER_JOURNAL_DIR: join(plan.dataDir, "carrier-journal"),
    SMSC_HOST: "127.0.0.1",
    SMSC_PORT: String(portOf(portBase, "smsc")),
    SMSC_CONTROL_PORT: String(portOf(portBase, "smsc-control")),
    SMSC_SYSTEM_ID,
    SMSC_PASSWORD: plan.secrets.smscPassword,
    ...processes[place]?.settings,
  };
}

/** The ops port of the first process with a carrier; empty without one. */
function carrierOps({ portBase, processes }: StackPlan): string {
  const at = processes.findIndex(({ services }) => services.includes("carrier"));
  return at < 0 ? "" : `http://127.0.0.1:${opsPort(portBase, at)}`;
}

/** Where the gateway of the process at this place listens: replicas one port after the other. */
export function gatewayPort(
  { portBase, processes }: Pick<StackPlan, "portBase" | "processes">,
  place: number,
): number {
  const before = processes.slice(0, place).filter((row) => row.services.includes("gateway"));
  return portOf(portBase, "gateway") + before.length;
}

/** As in the image: processes load their code without what only stripping its types would take. */
export const LEAN_START = [
  "--import",
  // An address and not a path: there, `#` and `?` in a folder's name mean something else.
  pathToFileURL(join(ROOT, "services/strip-types-cache.mjs")).href,
];

/** The arguments after `node` that run a process of the stack. */
export function argumentsOf(plan: StackPlan, name: string): string[] {
  if (name === RECEIVER) return [...LEAN_START, join(ROOT, "deploy/dev/receiver.ts")];
  const services =
    plan.processes.find((row) => row.name === name)?.services ??
    (name === SMSC_SIMULATOR ? [SMSC_SIMULATOR] : []);
  if (services.length === 0) throw new Error(`no process is called ${name}`);
  return [...LEAN_START, join(ROOT, "services/main.ts"), ...services];
}

/** Place of a process among those with an ops port; the simulator comes after the services. */
export function placeOf(plan: Pick<StackPlan, "processes">, name: string): number {
  const at = plan.processes.findIndex((row) => row.name === name);
  return at < 0 ? plan.processes.length : at;
}
