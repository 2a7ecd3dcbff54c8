/** The settings of each component: the names its code reads, minus those that the chart sets. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../dev/paths.ts";

const BASE = "services/shared/io/base-config.ts";

/** Settings derived from other values, or different in each pod: they must not be set by hand. */
const OWNED = new RegExp(
  `^(${[
    "HOST|PORT|(GRPC|OPS)_(HOST|PORT)|\\w+_GRPC|RPC_\\w+|MONGODB_\\w+|NATS_\\w+|REDIS_\\w+",
    "EVENT_STREAM_\\w+|ENCRYPTION_KEYS|CURSOR_KEY|DRAIN_DELAY_MS|CLOSE_TIMEOUT_MS|LOG_LEVEL",
    "GRPC_HEALTH_PORT|CARRIER_ID|CARRIER_JOURNAL_DIR|CARRIER_RECEIPT_(HOST|PORT|URL)",
    "SMSC_(HOST|PORT|CONTROL_PORT|SYSTEM_ID|PASSWORD)|GATEWAY_(REPLICAS|PEERS)",
    "WEBHOOK_ALLOWED_(NETWORKS|PORTS)|WEBHOOK_INSTANCE",
  ].join("|")})$`,
);

/** Names that a component's `settings` may hold, sorted. */
export function settingsOf(component: string): string[] {
  const own = component === "gateway" ? "gateway/config.ts" : `services/${component}/config.ts`;
  const files = [BASE, own].filter((file) => existsSync(join(ROOT, file)));
  const names = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    return [...text.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map((match) => match[1] ?? "");
  });
  return [...new Set(names)].filter((name) => !OWNED.test(name)).sort();
}
