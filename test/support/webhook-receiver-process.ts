/**
 * Customers' servers in their own process, so that they do not share the event loop of the measured
 * service. The first part of the path selects the behaviour: `/ok/…`, `/hang/…`, `/fail/…` (500),
 * `/reset/…`, `/drip/…`. Messages to the parent: `{listening: port}` once, and for each `"collect"`
 * the requests since the last one.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

/** One request: path, event id, delivery id, attempt, time of the event, time of arrival. */
export type Request = readonly [string, string, string, number, number, number];

/** The response to `collect`. */
export type Collected = {
  readonly requests: readonly Request[];
  readonly connections: number;
  /** Requests that arrived while another request of the same delivery was open. */
  readonly overlaps: number;
};

let requests: Request[] = [];
let connections = 0;
let overlaps = 0;
const open = new Map<string, number>();

/** Records that a delivery has an open request, until it ends. */
function track(deliveryId: string, response: ServerResponse): void {
  const before = open.get(deliveryId) ?? 0;
  if (before > 0) overlaps += 1;
  open.set(deliveryId, before + 1);
  response.once("close", () => {
    const left = (open.get(deliveryId) ?? 1) - 1;
    if (left === 0) open.delete(deliveryId);
    else open.set(deliveryId, left);
  });
}

function behave(kind: string, request: IncomingMessage, response: ServerResponse): void {
  if (kind === "ok") response.writeHead(204).end();
  else if (kind === "fail") response.writeHead(500).end("down");
  else if (kind === "reset") request.socket.destroy();
  else if (kind === "drip") {
    response.writeHead(200);
    const timer = setInterval(() => response.write("."), 200);
    response.once("close", () => clearInterval(timer));
  }
}

function serve(certFile: string, keyFile: string): void {
  const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const server = createServer({ ...tls, keepAliveTimeout: 60_000 }, (request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const { headers, url = "" } = request;
      track(String(headers["x-service-delivery-id"]), response);
      requests.push([
        url,
        String(headers["x-service-event-id"]),
        String(headers["x-service-delivery-id"]),
        Number(headers["x-service-delivery-attempt"]),
        Date.parse(/"created_at":"([^"]+)","data"/.exec(body)?.[1] ?? ""),
        Date.now(),
      ]);
      behave(url.split("/")[1] ?? "", request, response);
    });
  });
  server.on("secureConnection", () => {
    connections += 1;
  });
  server.listen(0, "127.0.0.1", () => {
    process.send?.({ listening: (server.address() as AddressInfo).port });
  });
  process.on("message", () => {
    process.send?.({ collected: { requests, connections, overlaps } });
    requests = [];
  });
  process.on("disconnect", () => process.exit(0));
}

const [certFile, keyFile] = process.argv.slice(2);
if (certFile !== undefined && keyFile !== undefined) serve(certFile, keyFile);
