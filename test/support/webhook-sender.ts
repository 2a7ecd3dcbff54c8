import { createConnections } from "../../services/webhook/adapters/http-client/connection-pool.ts";
import {
  createSender,
  type SendRequest,
} from "../../services/webhook/adapters/http-client/sender.ts";
import { createHostGuard } from "../../services/webhook/adapters/http-client/ssrf-guard.ts";
import { createTrust } from "../../services/webhook/adapters/http-client/tls-context.ts";
import { parseNetwork } from "../../services/webhook/domain/address-rules.ts";

/** A sender to receivers on loopback, with what it told the metrics. */
export function openTestSender(
  caFile: string,
  limits: {
    readonly socketsMax?: number;
    readonly poolsMax?: number;
    readonly idleMs?: number;
    readonly ageMaxMs?: number;
  } = {},
) {
  const guard = createHostGuard({
    resolve: async () => ["127.0.0.1"],
    allowedNetworks: [parseNetwork("127.0.0.1/32")],
    cacheMs: 5000,
  });
  const connections = createConnections({
    secureContext: createTrust(caFile),
    lookup: guard.lookup,
    addressTimeoutMs: 1000,
    socketsMax: limits.socketsMax ?? 4,
    poolsMax: limits.poolsMax ?? 10,
    idleMs: limits.idleMs ?? 30_000,
    ...(limits.ageMaxMs === undefined ? {} : { ageMaxMs: limits.ageMaxMs }),
  });
  const used: string[] = [];
  const events = { onConnection: (kind: string) => void used.push(kind) };
  const sender = createSender({ connections, guard, events });
  return {
    ...sender,
    /** "new" or "reused" for each answer. */
    used,
    /** Sends to a port of loopback. */
    to: (port: number, wanted: Partial<SendRequest> = {}) =>
      sender.send({
        endpointId: "whe_1",
        target: { host: "localhost", port, path: "/hook?a=b" },
        headers: { "X-Id": "1" },
        body: '{"text":"é☂"}',
        timeoutMs: 5000,
        ...wanted,
      }),
  };
}
