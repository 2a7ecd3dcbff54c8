import type { WebhookConfig } from "../../config.ts";
import { createConnections } from "./connection-pool.ts";
import { createResolver } from "./resolver.ts";
import { createSender, type Sender, type SenderEvents } from "./sender.ts";
import { createHostGuard, type HostGuard } from "./ssrf-guard.ts";
import { createTrust } from "./tls-context.ts";

/** How long a name's checked addresses are shared, in milliseconds. */
const ADDRESSES_KEPT_MS = 5000;
const RESOLVE_TIMEOUT_MS = 2000;
const POOLS_MAX = 2000;
/** A connection that is not used for so long is closed. */
const IDLE_MS = 30_000;

/** Opens the sender with everything it needs, and the guard that also checks URLs being saved. */
export function openSender(
  config: WebhookConfig,
  events: SenderEvents,
): { readonly sender: Sender; readonly guard: HostGuard } {
  const guard = createHostGuard({
    resolve: createResolver({
      servers: config.WEBHOOK_DNS_SERVERS,
      timeoutMs: Math.min(RESOLVE_TIMEOUT_MS, config.WEBHOOK_TIMEOUT_MS),
    }),
    allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
    cacheMs: ADDRESSES_KEPT_MS,
  });
  const connections = createConnections({
    secureContext: createTrust(config.WEBHOOK_CA_FILE),
    lookup: guard.lookup,
    // Node's quarter of a second would give up on receivers an ocean away.
    addressTimeoutMs: Math.ceil(config.WEBHOOK_TIMEOUT_MS / 3),
    socketsMax: config.WEBHOOK_ENDPOINT_CONCURRENCY,
    poolsMax: POOLS_MAX,
    idleMs: IDLE_MS,
  });
  return { sender: createSender({ connections, guard, events }), guard };
}
