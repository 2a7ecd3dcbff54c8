/** The tokens of a development stack: each process has its own and may call only what its services call. */
import { createHmac } from "node:crypto";
import { CALLER_METHODS, methodsOf, OPERATOR } from "../../services/shared/caller-methods.ts";
import { tokenSettings } from "../../services/shared/rpc/listed-callers.ts";
import { SERVICE_ADDRESSES } from "../../services/shared/service-addresses.ts";
import type { ServiceProcess } from "./process-table.ts";

/** May call every method, for trying RPCs by hand; no process of the stack sends its token. */
const DEVELOPER = "developer";

/** Whether the environment of `make up` lists callers itself: then all processes share one token, as it says. */
export function hasOwnLists(settings: Readonly<Record<string, string>>): boolean {
  return Boolean(settings.RPC_TOKENS || settings.RPC_CALLERS);
}

/** A caller's token, derived from the stack's secret, which is the developer's own. */
export function callerToken(secret: string, caller: string): string {
  if (caller === DEVELOPER) return secret;
  return createHmac("sha256", secret).update(caller).digest("base64url");
}

/** The RPC settings of one process: its token, and the callers of the services that it runs. */
export function rpcSettings(
  rpcToken: string,
  settings: Readonly<Record<string, string>>,
  processes: readonly ServiceProcess[],
  name: string,
): Record<string, string> {
  const secret = settings.RPC_TOKEN ?? rpcToken;
  if (hasOwnLists(settings)) return { RPC_TOKEN: secret };
  const own = processes.find((row) => row.name === name)?.services ?? [];
  const lists = new Map<string, readonly string[]>([[DEVELOPER, ["*"]]]);
  for (const row of processes) lists.set(row.name, methodsServed(row.services, own));
  lists.set(OPERATOR, methodsServed([OPERATOR], own));
  const callers = [...lists].filter(([, methods]) => methods.length > 0);
  return {
    RPC_TOKEN: callerToken(secret, name),
    RPC_CALLERS: JSON.stringify(Object.fromEntries(callers)),
    ...Object.fromEntries(
      callers.map(([caller]) => [tokenSettings(caller).token, callerToken(secret, caller)]),
    ),
  };
}

/** The methods of these callers that these services serve. */
function methodsServed(callers: readonly string[], services: readonly string[]): string[] {
  const interfaces = [...new Set(callers.flatMap((one) => Object.keys(CALLER_METHODS[one] ?? {})))];
  return interfaces
    .filter((name) => services.includes(SERVICE_ADDRESSES[name]?.name ?? "carrier"))
    .flatMap((name) => methodsOf(callers, name));
}
