import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { WebhookConfig } from "../config.ts";

/**
 * The name under which this process leases deliveries, so that its restart can release the leases
 * of a crash; empty when there is none. No other running process may have it. Without a configured
 * name, the address of the ops port serves: a process binds it before its services start and keeps
 * it to the end, so an earlier owner on this machine is dead.
 */
export function leaseOwner(
  config: Pick<WebhookConfig, "WEBHOOK_INSTANCE">,
  env: NodeJS.ProcessEnv,
): string {
  if (config.WEBHOOK_INSTANCE !== "") return config.WEBHOOK_INSTANCE;
  const { OPS_HOST = "", OPS_PORT = "" } = env;
  // Port 0 means any port: a restart would get another one.
  if (!/^[1-9]\d*$/.test(OPS_PORT)) return "";
  const place = [hostname(), machineId(), OPS_HOST, OPS_PORT].join("|");
  // Short, because every lease stores it.
  return createHash("sha256").update(place).digest("base64url").slice(0, 12);
}

/** Distinguishes machines with the same host name (machine-id(5)); containers may have none. */
function machineId(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return "";
  }
}
