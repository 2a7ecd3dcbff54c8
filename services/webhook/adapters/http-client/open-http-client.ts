import type { HttpClient } from "../../app/ports.ts";
import type { WebhookConfig } from "../../config.ts";
import { createConnectionPool } from "./connection-pool.ts";
import { createHttpClient } from "./http-client.ts";
import type { ConnectionMetrics } from "./request.ts";
import { createResolver } from "./resolver.ts";
import { createSsrfGuard, type SsrfGuard } from "./ssrf-guard.ts";
import { createTlsContext } from "./tls-context.ts";

/** How long the checked addresses of a name are cached. */
const ADDRESS_CACHE_MS = 5000;
const RESOLVE_TIMEOUT_MS = 2000;
const POOLS_MAX = 2000;
/** An idle connection is closed after this time. */
const IDLE_MS = 30_000;

/** Opens the client with its SSRF guard, which the caller also needs: it checks URLs when they are saved. */
export function openHttpClient(
  config: WebhookConfig,
  metrics: ConnectionMetrics,
): { readonly httpClient: HttpClient; readonly guard: SsrfGuard } {
  const guard = createSsrfGuard({
    resolve: createResolver({
      servers: config.WEBHOOK_DNS_SERVERS,
      timeoutMs: Math.min(RESOLVE_TIMEOUT_MS, config.WEBHOOK_TIMEOUT_MS),
    }),
    allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
    cacheMs: ADDRESS_CACHE_MS,
  });
  const connections = createConnectionPool({
    secureContext: createTlsContext(config.WEBHOOK_CA_FILE),
    lookup: guard.lookup,
    // Node's default of 250 ms would fail for receivers on another continent.
    addressTimeoutMs: Math.ceil(config.WEBHOOK_TIMEOUT_MS / 3),
    socketsMax: config.WEBHOOK_ENDPOINT_CONCURRENCY,
    poolsMax: POOLS_MAX,
    idleMs: IDLE_MS,
  });
  return { httpClient: createHttpClient({ connections, guard, metrics }), guard };
}
