/** A customer's server that speaks octets over TLS, so that a test can say any answer in any pieces. */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";

/** One request as its octets came. */
export type RawRequest = {
  readonly socket: TLSSocket;
  readonly text: string;
  /** Counted from 1 on its connection. */
  readonly number: number;
  /** In how many pieces it came. */
  readonly pieces: number;
};

/** What the server does with a whole request. */
export type RawBehaviour = (request: RawRequest) => void;

export type RawReceiver = Awaited<ReturnType<typeof startRawReceiver>>;

/** Starts a server on a free port of loopback; it answers 204 until told otherwise. */
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
    /** Whole requests, oldest first. */
    requests,
    /** Connections whose handshake ended, oldest first. */
    sockets,
    behave(next: RawBehaviour) {
      behave = next;
    },
    /** Takes connections over: nothing is read of them any more. */
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

/** Answers with lines, whose ends are written as one character and sent as two. */
export function say(lines: string): RawBehaviour {
  return ({ socket }) => void socket.write(lines.replaceAll("\n", "\r\n"));
}
