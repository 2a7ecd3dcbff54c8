/**
 * A lean HTTP/1.1 client for load tests: one request at a time on each kept-alive connection,
 * as little work per request as can be, because the generator shares the machine with what it
 * measures. It understands answers with `Content-Length`, which is all the gateway sends.
 */
import { connect, type Socket } from "node:net";

/** The response. */
export type LoadAnswer = {
  readonly status: number;
  /** The status line and the headers, as they came. */
  readonly head: string;
  readonly body: string;
};

/** One kept-alive connection. */
export type LoadConnection = {
  /** Sends a request and returns its response; rejects when the connection breaks. */
  send(request: Buffer): Promise<LoadAnswer>;
  close(): void;
};

/** Writes a POST request whole. */
export function postRequest(
  url: URL,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${lines.join("")}\r\n${body}`,
  );
}

/** Writes a GET request whole. */
export function getRequest(
  url: URL,
  path: string,
  headers: Readonly<Record<string, string>>,
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\n${lines.join("")}\r\n`);
}

/** Opens a connection. */
export function openConnection(url: URL): Promise<LoadConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(createConnection(socket));
    });
  });
}

function createConnection(socket: Socket): LoadConnection {
  let received = "";
  let waiting: { resolve(answer: LoadAnswer): void; reject(error: Error): void } | undefined;

  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    received = received === "" ? chunk : received + chunk;
    const answer = takeAnswer();
    if (answer === undefined) return;
    const current = waiting;
    waiting = undefined;
    current?.resolve(answer);
  });
  const broken = () => {
    waiting?.reject(new Error("the connection broke"));
    waiting = undefined;
  };
  socket.on("error", broken);
  socket.on("close", broken);

  function takeAnswer(): LoadAnswer | undefined {
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = received.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (received.length < end + 4 + length) return undefined;
    const answer = {
      status: Number(received.slice(9, 12)),
      head,
      body: received.slice(end + 4, end + 4 + length),
    };
    received = received.slice(end + 4 + length);
    return answer;
  }

  return {
    send(request) {
      return new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error("the connection is closed"));
        waiting = { resolve, reject };
        socket.write(request);
      });
    },
    close: () => socket.destroy(),
  };
}
