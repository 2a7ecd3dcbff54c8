import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { WebhookConfig } from "../config.ts";

/**
 * The name under which this process leases deliveries, so that its restart takes up what it had
 * leased when it died; empty when there is none. Nobody else that runs may have it. Where the
 * operator names none, the address of the ops port is one: a process binds it before it starts its
 * services and keeps it to the end, so whoever had it before on this machine is dead.
 */
export function leaseOwner(
  config: Pick<WebhookConfig, "WEBHOOK_INSTANCE">,
  env: NodeJS.ProcessEnv,
): string {
  if (config.WEBHOOK_INSTANCE !== "") return config.WEBHOOK_INSTANCE;
  const { OPS_HOST = "", OPS_PORT = "" } = env;
  // Port 0 is any port: the next process would get another.
  if (!/^[1-9]\d*$/.test(OPS_PORT)) return "";
  const place = [hostname(), machineId(), OPS_HOST, OPS_PORT].join("|");
  // Short, because it is written with every lease.
  return createHash("sha256").update(place).digest("base64url").slice(0, 12);
}

/** Tells machines apart that were given the same name (machine-id(5)); containers may have none. */
function machineId(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return "";
  }
}
