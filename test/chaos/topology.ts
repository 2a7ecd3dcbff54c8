/** The processes of a chaos run and their links; every link can be cut. */
import {
  GRPC_SETTINGS,
  type ServiceProcess,
  SMSC_SIMULATOR,
} from "../../deploy/dev/process-table.ts";
import type { ServerName } from "../../deploy/dev/server-table.ts";

/** The services' processes; those most exposed to races have two replicas. */
export const PROCESSES: readonly { readonly name: string; readonly service: string }[] = [
  { name: "tenant", service: "tenant" },
  { name: "sender-id", service: "sender-id" },
  { name: "wallet", service: "wallet" },
  { name: "wallet-2", service: "wallet" },
  { name: "routing", service: "routing" },
  { name: "messaging", service: "messaging" },
  { name: "messaging-2", service: "messaging" },
  { name: "carrier", service: "carrier" },
  { name: "carrier-2", service: "carrier" },
  { name: "webhook", service: "webhook" },
  { name: "campaign", service: "campaign" },
  { name: "gateway", service: "gateway" },
  { name: "consent", service: "consent" },
];

/** The servers under the services. */
export const SERVERS: readonly ServerName[] = ["mongod", "nats-server", "redis"];

/** A second carrier that receives rerouted messages; no fault hits it. */
export const SECOND_SMSC = "smsc-second";

/** The servers and services that each service calls. */
const CALLS: Readonly<
  Record<string, { readonly servers: readonly ServerName[]; readonly services: readonly string[] }>
> = {
  tenant: { servers: ["mongod", "nats-server"], services: [] },
  "sender-id": { servers: ["mongod", "nats-server"], services: ["tenant"] },
  wallet: { servers: ["mongod", "nats-server"], services: ["messaging"] },
  routing: { servers: ["mongod", "nats-server"], services: [] },
  messaging: {
    servers: ["mongod", "nats-server"],
    services: ["tenant", "sender-id", "routing", "wallet", "consent"],
  },
  carrier: {
    servers: ["mongod", "nats-server", "redis"],
    services: ["messaging", "routing", "consent"],
  },
  webhook: { servers: ["mongod", "nats-server"], services: [] },
  campaign: { servers: ["mongod", "nats-server"], services: ["tenant", "wallet", "messaging"] },
  consent: { servers: ["mongod", "nats-server"], services: ["messaging"] },
  gateway: {
    servers: ["nats-server", "redis"],
    services: ["tenant", "messaging", "wallet", "sender-id", "webhook", "campaign", "consent"],
  },
};

/** The servers that a service calls. */
export function serversOf(service: string): readonly ServerName[] {
  return CALLS[service]?.servers ?? [];
}

/** One direction of calls: from a process (or the customers) to a process or server. */
export type Link = {
  readonly name: string;
  readonly from: string;
  readonly to: string;
};

/** Every link of the run; replicas have links of their own. */
export const LINKS: readonly Link[] = [
  link("customers", "gateway"),
  // A connector has one address, which both carrier processes use.
  link("carriers", "smsc"),
  link("carriers", SECOND_SMSC),
  ...PROCESSES.flatMap(({ name, service }) => {
    const calls = CALLS[service];
    const callees = PROCESSES.filter((callee) => calls?.services.includes(callee.service));
    return [
      ...(calls?.servers ?? []).map((server) => link(name, server)),
      ...callees.map((callee) => link(name, callee.name)),
      ...(service === "webhook" ? [link(name, "receivers")] : []),
    ];
  }),
];

function link(from: string, to: string): Link {
  return { name: `${from}>${to}`, from, to };
}

/** The rows of the stack's process table: each process calls others over its own links. */
export function processTable(
  portOfLink: (name: string) => number,
  further: (process: string) => Readonly<Record<string, string>>,
): ServiceProcess[] {
  const services = PROCESSES.map(({ name, service }) => ({
    name,
    services: [service],
    settings: { ...addressesOf(name, portOfLink), ...further(name) },
  }));
  // After the services, whose places their ports follow from.
  const second = { name: SECOND_SMSC, services: [SMSC_SIMULATOR], settings: further(SECOND_SMSC) };
  return [...services, second];
}

function addressesOf(
  name: string,
  portOfLink: (name: string) => number,
): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const { from, to, name: linkName } of LINKS) {
    if (from !== name) continue;
    const address = `127.0.0.1:${portOfLink(linkName)}`;
    const service = PROCESSES.find((process) => process.name === to)?.service ?? "";
    const setting = GRPC_SETTINGS[service];
    if (to === "mongod") settings.MONGODB_URI = `mongodb://${address}/?replicaSet=sms`;
    else if (to === "nats-server") settings.NATS_URL = `nats://${address}`;
    else if (to === "redis") settings.REDIS_URL = `redis://${address}`;
    else if (setting !== undefined) {
      const others = settings[setting];
      settings[setting] = others === undefined ? address : `${others},${address}`;
    }
  }
  return settings;
}
