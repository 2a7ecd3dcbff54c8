import type { HttpClient } from "../../app/ports.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { type ConnectionMetrics, classifyError, HttpRequest } from "./request.ts";
import type { SsrfGuard } from "./ssrf-guard.ts";

/** An HTTP/1.1 client for webhook requests. It checks a name's addresses before it connects. */
export function createHttpClient(parts: {
  readonly connections: ConnectionPool;
  readonly guard: SsrfGuard;
  readonly metrics: ConnectionMetrics;
}): HttpClient {
  const { connections, guard, metrics } = parts;
  const live = new Set<HttpRequest>();
  const context = { connections, metrics, live };

  return {
    send: (request) =>
      new Promise((resolve) => {
        const httpRequest = new HttpRequest(context, request, resolve);
        guard.checkHost(request.target.host).then(
          () => httpRequest.start(),
          (error: unknown) => httpRequest.fail(classifyError(error)),
        );
      }),
    stop(endpointId) {
      for (const httpRequest of [...live]) {
        if (httpRequest.endpointId === endpointId) httpRequest.stop();
      }
    },
    close: () => connections.close(),
  };
}
