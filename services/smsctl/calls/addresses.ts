/** Where the services are: the addresses and the token of exactly one source. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../shared/core/errors.ts";
import { SERVICE_ADDRESSES } from "../../shared/service-addresses.ts";
import { contextSettings, currentContext } from "./contexts.ts";

/** The settings that name services, in the environment and in contexts. */
export const ADDRESS_SETTINGS: readonly string[] = [
  ...Object.values(SERVICE_ADDRESSES).map(({ setting }) => setting),
  ...["RPC_TOKEN", "CARRIER_OPS", "STACK_DIR"],
];

/** The addresses, their token, and where they come from. */
export type ServiceAddresses = {
  /** Comma-separated addresses by service name. */
  readonly grpc: Readonly<Record<string, string>>;
  readonly ops: string | undefined;
  readonly token: string | undefined;
  /** The settings for TLS. */
  readonly settings: NodeJS.ProcessEnv;
  readonly source:
    | { readonly kind: "environment" }
    | { readonly kind: "context"; readonly name: string }
    | { readonly kind: "stack"; readonly pids: readonly number[] };
};

/** The part of `.local/stack.json` that the command line needs. */
type StackFile = {
  readonly ops?: Record<string, string>;
  readonly grpc?: Record<string, string>;
  readonly operator_token?: string;
  readonly grpc_token?: string;
  readonly pids?: Record<string, number>;
};

/**
 * The source is `--context`, else the environment when it names any of them, else the current context, else the
 * development stack. Settings of two sources are never mixed: a misspelt setting would send the command and the
 * token to another installation.
 */
export function serviceAddresses(
  env: NodeJS.ProcessEnv,
  contextName: string | undefined,
): ServiceAddresses {
  const isInEnvironment = ADDRESS_SETTINGS.some((name) => Boolean(env[name]));
  const name = contextName ?? (isInEnvironment ? undefined : currentContext(env));
  if (name === undefined) {
    return isInEnvironment && !onlyStack(env)
      ? fromSettings(env, { kind: "environment" })
      : fromStack(stackFolder(env), env);
  }
  const settings = contextSettings(env, name);
  return onlyStack(settings)
    ? fromStack(stackFolder(settings), settings)
    : fromSettings(settings, { kind: "context", name });
}

/** The beginning of each call's error while no process of the development stack runs. */
export const STACK_IS_DOWN = "The stack is down: make up.";

/** The advice for a service that cannot be reached; undefined when only its address is known. */
export function whyUnreachable({ source }: ServiceAddresses, name: string): string | undefined {
  if (source.kind !== "stack") return undefined;
  return source.pids.some(isAlive)
    ? `${name} is down: make restart S=${name}, then make logs S=${name}.`
    : STACK_IS_DOWN;
}

/** The folder of the development stack: `STACK_DIR`, else `.local` of this checkout. */
export function stackFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.STACK_DIR || join(import.meta.dirname, "../../../.local");
}

function onlyStack(settings: NodeJS.ProcessEnv): boolean {
  return ADDRESS_SETTINGS.every((name) => name === "STACK_DIR" || !settings[name]);
}

function fromSettings(
  settings: NodeJS.ProcessEnv,
  source: ServiceAddresses["source"],
): ServiceAddresses {
  const of = (name: string): string | undefined => settings[name] || undefined;
  const addresses = Object.values(SERVICE_ADDRESSES).flatMap(({ name, setting }) => {
    const address = of(setting);
    return address === undefined ? [] : [[name, address] as const];
  });
  const grpc = Object.fromEntries(addresses);
  return { grpc, ops: of("CARRIER_OPS"), token: of("RPC_TOKEN"), settings, source };
}

function fromStack(folder: string, settings: NodeJS.ProcessEnv): ServiceAddresses {
  const { grpc = {}, ops, operator_token, grpc_token, pids = {} } = readStackFile(folder);
  const source = { kind: "stack", pids: Object.values(pids) } as const;
  return { grpc, ops: ops?.carrier, token: operator_token ?? grpc_token, settings, source };
}

function readStackFile(folder: string): StackFile {
  const file = join(folder, "stack.json");
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as StackFile;
  } catch (error) {
    const { message } = error as Error;
    throw new AppError("validation_error", `${file} cannot be read: ${message}`);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
