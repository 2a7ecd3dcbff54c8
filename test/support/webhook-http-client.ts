import { createConnectionPool } from "../../services/webhook/adapters/http-client/connection-pool.ts";
import { createHttpClient } from "../../services/webhook/adapters/http-client/http-client.ts";
import { createSsrfGuard } from "../../services/webhook/adapters/http-client/ssrf-guard.ts";
import { createTlsContext } from "../../services/webhook/adapters/http-client/tls-context.ts";
import type { WebhookRequest } from "../../services/webhook/app/ports.ts";
import { parseNetwork } from "../../services/webhook/domain/address-rules.ts";

/** An HTTP client to receivers on loopback, with the metrics it counted. */
export function openTestClient(
  caFile: string,
  limits: {
    readonly socketsMax?: number;
    readonly poolsMax?: number;
    readonly idleMs?: number;
    readonly ageMaxMs?: number;
  } = {},
) {
  const guard = createSsrfGuard({
    resolve: async () => ["127.0.0.1"],
    allowedNetworks: [parseNetwork("127.0.0.1/32")],
    cacheMs: 5000,
  });
  const connections = createConnectionPool({
    secureContext: createTlsContext(caFile),
    lookup: guard.lookup,
    addressTimeoutMs: 1000,
    socketsMax: limits.socketsMax ?? 4,
    poolsMax: limits.poolsMax ?? 10,
    idleMs: limits.idleMs ?? 30_000,
    ...(limits.ageMaxMs === undefined ? {} : { ageMaxMs: limits.ageMaxMs }),
  });
  const used: string[] = [];
  const metrics = { onConnection: (kind: string) => void used.push(kind) };
  const client = createHttpClient({ connections, guard, metrics });
  return {
    ...client,
    /** "new" or "reused" for each response. */
    used,
    /** Sends to a port on loopback. */
    to: (port: number, wanted: Partial<WebhookRequest> = {}) =>
      client.send({
        endpointId: "whe_1",
        target: { host: "localhost", port, path: "/hook?a=b" },
        headers: { "X-Id": "1" },
        body: '{"text":"é☂"}',
        timeoutMs: 5000,
        ...wanted,
      }),
  };
}
