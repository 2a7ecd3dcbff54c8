import { setDefaultAutoSelectFamilyAttemptTimeout } from "node:net";
import { addressTimeoutMs } from "../core/address-timeout.ts";

/** The connect timeout of clients without an option for single addresses (`redis.ts`). */
export const CONNECT_TIMEOUT_MS = 5000;

/**
 * Sets the defaults of every connection of this process. Call it before the first one. Removes
 * `NODE_TLS_REJECT_UNAUTHORIZED=0` from the environment: Node would accept any certificate, in all libraries.
 */
export function setProcessDefaults(env: NodeJS.ProcessEnv): void {
  setDefaultAutoSelectFamilyAttemptTimeout(addressTimeoutMs(CONNECT_TIMEOUT_MS));
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== "0") return;
  delete env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.stderr.write("NODE_TLS_REJECT_UNAUTHORIZED is ignored: certificates are verified\n");
}
