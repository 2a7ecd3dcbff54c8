/** A customer's HTTPS server on loopback, as well or as badly behaved as a test asks. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

/** One request as it came. */
export type Received = {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly atMs: number;
};

/** How the server answers one request; it must end the response or leave it hanging. */
export type Behaviour = (response: ServerResponse, received: Received) => void;

/** A running receiver. */
export type Receiver = {
  readonly port: number;
  /** Requests whose body arrived, oldest first. */
  readonly received: Received[];
  /** ConnectionPool made so far. */
  readonly connections: number;
  behave(behaviour: Behaviour): void;
  url(path?: string): string;
  at(path: string): Received[];
  close(): Promise<void>;
};

/** Answers 204. */
export const accept: Behaviour = (response) => void response.writeHead(204).end();

/** Answers a status and a text. */
export function answer(status: number, text = ""): Behaviour {
  return (response) => void response.writeHead(status).end(text);
}

/** Starts a receiver, on a free port when none is given. */
export async function startReceiver(
  tls: { readonly certFile: string; readonly keyFile: string },
  wantedPort = 0,
): Promise<Receiver> {
  const received: Received[] = [];
  let behaviour: Behaviour = accept;
  let connections = 0;
  const options = { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const server = createServer(options, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "/", headers } = request;
      const item = { path, headers, body: Buffer.concat(chunks), atMs: Date.now() };
      received.push(item);
      behaviour(response, item);
    });
  });
  server.on("secureConnection", () => {
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
    url: (path = "/hook") => `https://localhost:${port}${path}`,
    at: (path) => received.filter((item) => item.path === path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
