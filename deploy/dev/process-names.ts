import { RECEIVER, SMSC_SIMULATOR } from "./process-table.ts";
import { SERVERS, type ServerName } from "./server-table.ts";
import type { StackState } from "./stack-file.ts";

/** The names that `make restart`, `make logs` and stack.json use, in the order of starting. */
export function processNames(state: StackState): string[] {
  const services = state.processes.map((row) => row.name);
  return [...embeddedServers(state), SMSC_SIMULATOR, RECEIVER, ...services];
}

/** The servers that this stack runs itself. */
export function embeddedServers(state: StackState): ServerName[] {
  return Object.values(SERVERS)
    .map(({ name }) => name)
    .filter((name) => !state.external.includes(name));
}
