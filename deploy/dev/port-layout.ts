import { portHolder } from "./port-holder.ts";
import { isPortFree } from "./ports.ts";
import { StackError } from "./stack-error.ts";

/** The default PORT_BASE: the gateway's port and the base of all others. */
export const DEFAULT_PORT_BASE = 8080;

/** How many ports from PORT_BASE on belong to one stack. */
export const PORTS_OF_A_STACK = 64;

const OFFSETS = {
  // A gateway and its replicas.
  gateway: 0,
  "operator-console": 8,
  mail: 9,
  ops: 10,
  grpc: 25,
  mongod: 40,
  "nats-server": 41,
  redis: 42,
  smsc: 43,
  "smsc-control": 44,
  receiver: 45,
  "receiver-events": 46,
  // `smsctl webhook listen`.
  listen: 47,
  // Processes after the fifteenth.
  "further-ops": 48,
  "further-grpc": 56,
} as const;

export type FixedPort = Exclude<
  keyof typeof OFFSETS,
  "ops" | "grpc" | "further-ops" | "further-grpc"
>;

/** The port of a stack's part; the webhook receiver of the default stack is on 8443, which the URL rule allows. */
export function portOf(base: number, part: FixedPort): number {
  return part === "receiver" && base === DEFAULT_PORT_BASE ? 8443 : base + OFFSETS[part];
}

/** The rows of the process table with ports in the first range; further replicas follow. */
const PLACES_OF_THE_FIRST_ROW = 15;

/** The ops port of a row of the process table. */
export function opsPort(base: number, place: number): number {
  const beyond = place - PLACES_OF_THE_FIRST_ROW;
  return base + (beyond < 0 ? OFFSETS.ops + place : OFFSETS["further-ops"] + beyond);
}

/** The gRPC port of a row of the process table. */
export function grpcPort(base: number, place: number): number {
  const beyond = place - PLACES_OF_THE_FIRST_ROW;
  return base + (beyond < 0 ? OFFSETS.grpc + place : OFFSETS["further-grpc"] + beyond);
}

/** Reads PORT_BASE; undefined when the environment does not set it. */
export function portBaseIn(env: NodeJS.ProcessEnv): number | undefined {
  const text = env.PORT_BASE;
  if (text === undefined || text === "") return undefined;
  const base = Number(text);
  const highest = 65_535 - PORTS_OF_A_STACK;
  if (!Number.isInteger(base) || base < 1_024 || base > highest) {
    throw new StackError(`PORT_BASE must be a whole number from 1024 to ${highest}, not "${text}"`);
  }
  return base;
}

/** Throws one line naming every port of `wanted` (port to its user) that something else holds. */
export async function requireFreePorts(wanted: ReadonlyMap<number, string>): Promise<void> {
  const checks = await Promise.all(
    [...wanted].map(async ([port, user]) => ((await isPortFree(port)) ? [] : [{ port, user }])),
  );
  const taken = checks.flat();
  if (taken.length === 0) return;
  const one = taken.length === 1;
  const named = taken.slice(0, NAMED_MAX).map(describeTaken).join(", ");
  const more = taken.length > NAMED_MAX ? ` and ${taken.length - NAMED_MAX} more` : "";
  throw new StackError(
    `port${one ? "" : "s"} ${named}${more} of 127.0.0.1 ${one ? "is" : "are"} taken: ` +
      `end what holds ${one ? "it" : "them"}, or choose other ports: PORT_BASE=18080 make up`,
  );
}

/** Another stack holds many ports: a few tell which one. */
const NAMED_MAX = 3;

function describeTaken({ port, user }: { readonly port: number; readonly user: string }): string {
  return `${port} (for ${user}, held by ${portHolder(port)})`;
}
