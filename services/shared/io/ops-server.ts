import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Registry } from "prom-client";
import { createBoundedMap } from "../flow/bounded-map.ts";
import { singleFlight } from "../flow/single-flight.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { type Listening, listen } from "./listen.ts";

/** Handles a request on the ops port; returns `false` for a path that is not its own. */
export type OpsHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The HTTP/1.1 port for operators: health, metrics, and RPC in JSON for people with curl. */
export type OpsServer = Listening;

/**
 * Serves `/livez` (the event loop turns; touches no dependency), `/readyz` (every dependency
 * answers and the process is not draining), `/metrics` (Prometheus text), then `handlers`.
 */
export async function startOpsServer(options: {
  readonly host: string;
  readonly port: number;
  readonly lifecycle: Lifecycle;
  readonly metrics: Registry;
  readonly handlers: readonly OpsHandler[];
}): Promise<OpsServer> {
  const { host, port, lifecycle, metrics, handlers } = options;
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 });
  limitIdleConnections(server);
  // Any client in the cluster may request these, and each answer queries the databases.
  const failing = singleFlight(() => lifecycle.failingChecks());
  const figures = singleFlight(() => metrics.metrics());
  server.on("request", (request, response) => {
    const path = (request.url ?? "/").split("?", 1)[0];
    if (path === "/livez") return answer(response, 200, "ok\n");
    if (path === "/readyz") return void answerReadiness(response, lifecycle, failing);
    if (path === "/metrics") return void answerMetrics(response, figures, metrics.contentType);
    for (const handler of handlers) if (handler(request, response)) return;
    return answer(response, 404, "not found\n");
  });
  return listen(server, host, port);
}

/** Connections without a request in progress; an idle one takes about 10 KiB. */
const IDLE_CONNECTIONS_MAX = 512;

/** The oldest idle connection makes room for the newest, so that idle ones never keep a probe out. */
function limitIdleConnections(server: Server): void {
  const idle = createBoundedMap<Socket, Socket>(IDLE_CONNECTIONS_MAX, (oldest) => oldest.destroy());
  const release = (socket: Socket): void => {
    if (!socket.destroyed) idle.set(socket, socket);
  };
  server.on("connection", (socket) => {
    release(socket);
    socket.once("close", () => idle.delete(socket));
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => release(socket));
  });
}

async function answerReadiness(
  response: ServerResponse,
  lifecycle: Lifecycle,
  failing: () => Promise<readonly string[]>,
): Promise<void> {
  const checked = await failing();
  // The checks may have started before the process began to drain.
  const names = lifecycle.state === "ready" ? checked : [lifecycle.state];
  if (names.length === 0) answer(response, 200, "ready\n");
  else answer(response, 503, `not ready: ${names.join(", ")}\n`);
}

async function answerMetrics(
  response: ServerResponse,
  figures: () => Promise<string>,
  contentType: string,
): Promise<void> {
  try {
    answer(response, 200, await figures(), contentType);
  } catch {
    answer(response, 500, "metrics failed\n");
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
  response.end(body);
}
