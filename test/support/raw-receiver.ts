/** A TLS server for webhooks that writes raw bytes, so that a test controls every piece of a response. */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";

/** One request as received. */
export type RawRequest = {
  readonly socket: TLSSocket;
  readonly text: string;
  /** Counted from 1 on its connection. */
  readonly number: number;
  /** In how many pieces it arrived. */
  readonly pieces: number;
};

/** Handles a complete request. */
export type RawBehaviour = (request: RawRequest) => void;

export type RawReceiver = Awaited<ReturnType<typeof startRawReceiver>>;

/** Starts a server on a free port of loopback; by default it answers 204. */
export async function startRawReceiver(tls: {
  readonly certFile: string;
  readonly keyFile: string;
}) {
  const requests: RawRequest[] = [];
  const sockets: TLSSocket[] = [];
  let behave: RawBehaviour = answerNoContent;
  let onConnection: ((socket: TLSSocket) => void) | undefined;
  const options = { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const server = createServer(options, (socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    if (onConnection !== undefined) {
      onConnection(socket);
      return;
    }
    let text = "";
    let pieces = 0;
    let number = 0;
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
      pieces += 1;
      const head = text.indexOf("\r\n\r\n");
      const length = Number(/\r\nContent-Length: (\d+)\r\n/.exec(text)?.[1]);
      if (head < 0 || text.length < head + 4 + length) return;
      number += 1;
      const request = { socket, text, number, pieces };
      text = "";
      pieces = 0;
      requests.push(request);
      behave(request);
    });
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    /** Complete requests, oldest first. */
    requests,
    /** Connections whose handshake ended, oldest first. */
    sockets,
    behave(next: RawBehaviour) {
      behave = next;
    },
    /** Handles new connections instead: the server no longer reads them. */
    onConnection(next: (socket: TLSSocket) => void) {
      onConnection = next;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const answerNoContent: RawBehaviour = ({ socket }) => {
  socket.write("HTTP/1.1 204 No Content\r\n\r\n");
};

/** Responds with lines; `\n` is sent as CRLF. */
export function say(lines: string): RawBehaviour {
  return ({ socket }) => void socket.write(lines.replaceAll("\n", "\r\n"));
}
