import { OPERATOR } from "../../services/shared/caller-methods.ts";
import type { Layout } from "./paths.ts";
import { runningProcesses } from "./pid-files.ts";
import { grpcPort, opsPort, portOf } from "./port-layout.ts";
import {
  GRPC_SETTINGS,
  placeOf,
  type ServiceProcess,
  SMSC_SIMULATOR,
  SMSC_SYSTEM_ID,
} from "./process-table.ts";
import { callerToken, hasOwnLists } from "./rpc-callers.ts";

/** The contents of `.local/stack.json`, which describes a running stack to tools and tests. */
export type StackFile = {
  readonly gateway: string;
  readonly docs: string;
  /** The operators' console. */
  readonly operator_console: string;
  readonly tenant_id: string;
  readonly api_key: string;
  readonly test_api_key: string;
  readonly sender_id: string;
  /** Service name to `host:port`. */
  readonly grpc: Readonly<Record<string, string>>;
  /** Service name to the address of its ops port. */
  readonly ops: Readonly<Record<string, string>>;
  /** May call every method, for trying RPCs by hand. */
  readonly grpc_token: string;
  /** The token of `smsctl`. */
  readonly operator_token: string;
  readonly mongodb_uri: string;
  readonly nats_url: string;
  readonly redis_url: string;
  readonly receiver: {
    readonly url: string;
    readonly events: string;
    readonly secret: string;
    readonly ca_file: string;
    readonly ca_key_file: string;
  };
  readonly smsc: {
    readonly host: string;
    readonly port: number;
    readonly system_id: string;
    readonly password: string;
    readonly control: string;
  };
  /** Process name to pid; mongod, nats-server and redis included where they are embedded. */
  readonly pids: Readonly<Record<string, number>>;
};

/** The demo tenant that the seed created or found. */
export type Seeded = Pick<StackFile, "tenant_id" | "api_key" | "test_api_key" | "sender_id"> & {
  readonly webhook_secret: string;
};

export type StackState = {
  readonly portBase: number;
  readonly processes: readonly ServiceProcess[];
  /** Settings from the environment of `make up`, kept for `make restart`. */
  readonly settings: Readonly<Record<string, string>>;
  readonly urls: { readonly mongodb: string; readonly nats: string; readonly redis: string };
  /** Servers named by the environment: this stack neither starts nor stops them. */
  readonly external: readonly string[];
};

/** Builds the contents of stack.json. */
export function stackFile(
  layout: Layout,
  state: StackState,
  tls: { readonly caFile: string; readonly caKeyFile: string },
  secrets: { readonly rpcToken: string; readonly smscPassword: string },
  seeded: Seeded,
): StackFile {
  const { portBase, processes, urls, settings } = state;
  const token = settings.RPC_TOKEN ?? secrets.rpcToken;
  const local = (port: number) => `http://127.0.0.1:${port}`;
  // Written in reverse, so that the first replica of each service stays in the file.
  const services = processes
    .toReversed()
    .flatMap((row) => row.services.map((service) => ({ service, row })));
  const gateway = local(portOf(portBase, "gateway"));
  return {
    gateway,
    operator_console: local(portOf(portBase, "operator-console")),
    docs: settings.DOCS_URL ?? `${gateway}/docs`,
    tenant_id: seeded.tenant_id,
    api_key: seeded.api_key,
    test_api_key: seeded.test_api_key,
    sender_id: seeded.sender_id,
    grpc: Object.fromEntries(
      services
        .filter(({ service }) => service in GRPC_SETTINGS)
        .map(({ service, row }) => [
          service,
          `127.0.0.1:${grpcPort(portBase, placeOf(state, row.name))}`,
        ]),
    ),
    ops: Object.fromEntries(
      [...services, { service: SMSC_SIMULATOR, row: { name: SMSC_SIMULATOR } }].map(
        ({ service, row }) => [service, local(opsPort(portBase, placeOf(state, row.name)))],
      ),
    ),
    grpc_token: token,
    operator_token: hasOwnLists(settings) ? token : callerToken(token, OPERATOR),
    mongodb_uri: urls.mongodb,
    nats_url: urls.nats,
    redis_url: urls.redis,
    receiver: {
      url: `https://localhost:${portOf(portBase, "receiver")}/`,
      events: `${local(portOf(portBase, "receiver-events"))}/events`,
      secret: seeded.webhook_secret,
      ca_file: tls.caFile,
      ca_key_file: tls.caKeyFile,
    },
    smsc: {
      host: "127.0.0.1",
      port: portOf(portBase, "smsc"),
      system_id: SMSC_SYSTEM_ID,
      password: secrets.smscPassword,
      control: local(portOf(portBase, "smsc-control")),
    },
    pids: pidsOf(layout, processes),
  };
}

/** The pid of each process that runs now, and of each service that shares one. */
export function pidsOf(
  layout: Layout,
  processes: readonly ServiceProcess[],
): Record<string, number> {
  const running = runningProcesses(layout.runDir);
  const pids = Object.fromEntries([...running].map(([name, record]) => [name, record.pid]));
  for (const { name, services } of processes) {
    const pid = pids[name];
    if (pid !== undefined) for (const service of services) pids[service] ??= pid;
  }
  return pids;
}
