/** The chart's file of callers: the methods of each, by the component that serves them. */
import { stringify } from "yaml";
import { CALLER_METHODS, methodsOf } from "../../services/shared/caller-methods.ts";
import { SERVICE_ADDRESSES } from "../../services/shared/service-addresses.ts";

const HEAD =
  "# Generated from services/shared/caller-methods.ts by deploy/chart/generate.ts: do not edit.\n";

/** The text of `files/rpc-callers.yaml`. */
export function rpcCallersFile(): string {
  const callers = Object.entries(CALLER_METHODS).map(([caller, interfaces]) => [
    caller,
    Object.fromEntries(
      Object.keys(interfaces).map((name) => [
        // The carrier serves no RPC, but a page of its ops port.
        SERVICE_ADDRESSES[name]?.name ?? "carrier",
        methodsOf([caller], name),
      ]),
    ),
  ]);
  return HEAD + stringify(Object.fromEntries(callers));
}
