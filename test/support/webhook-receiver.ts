/** A customer's server on loopback, with the behaviour that a test sets. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { verifyWebhook, type WebhookEvent } from "../../clients/typescript/src/client.ts";

/** One request as it arrived. */
export type Received = {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly atMs: number;
};

/** Responds to one request; must end the response or leave it open. */
export type Behaviour = (response: ServerResponse, received: Received) => void;

/** A running receiver. */
export type Receiver = {
  readonly port: number;
  /** Requests whose body arrived, oldest first. */
  readonly received: Received[];
  /** Connections made so far. */
  readonly connections: number;
  behave(behaviour: Behaviour): void;
  url(path?: string): string;
  at(path: string): Received[];
  close(): Promise<void>;
};

/** Responds 204. */
export const accept: Behaviour = (response) => void response.writeHead(204).end();

/** Responds with a status and a text. */
export function answer(status: number, text = ""): Behaviour {
  return (response) => void response.writeHead(status).end(text);
}

/** Verifies the signatures of all requests; returns their events. */
export function verifiedEvents({ received }: Receiver, secret: string): Promise<WebhookEvent[]> {
  return Promise.all(
    received.map(({ body, headers }) =>
      verifyWebhook({
        body: String(body),
        signature: String(headers["x-service-signature"]),
        secret,
      }),
    ),
  );
}

/** Starts a receiver, on a free port by default; without certificates it serves plain HTTP. */
export async function startReceiver(
  tls?: { readonly certFile: string; readonly keyFile: string },
  wantedPort = 0,
): Promise<Receiver> {
  const received: Received[] = [];
  let behaviour: Behaviour = accept;
  let connections = 0;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "/", headers } = request;
      const item = { path, headers, body: Buffer.concat(chunks), atMs: Date.now() };
      received.push(item);
      behaviour(response, item);
    });
  };
  const server =
    tls === undefined
      ? createServer(handle)
      : createTlsServer(
          { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
          handle,
        );
  server.on(tls === undefined ? "connection" : "secureConnection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(wantedPort, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    received,
    get connections() {
      return connections;
    },
    behave(next) {
      behaviour = next;
    },
    url: (path = "/hook") =>
      tls === undefined ? `http://127.0.0.1:${port}${path}` : `https://localhost:${port}${path}`,
    at: (path) => received.filter((item) => item.path === path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
