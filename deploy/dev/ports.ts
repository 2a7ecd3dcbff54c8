import { connect, createServer } from "node:net";

/** True when nothing listens on this port of the loopback interface. */
export function isPortFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

// Below Linux's range for outgoing connections (32768 and up), so that no client takes a port
// between the moment it was found free and the moment a server binds it.
const LOWEST = 12_000;
const HIGHEST = 31_999;

/** Distinct free ports of 127.0.0.1, drawn at random so that parallel runs do not collide. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count && tries < count * 200; tries++) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST + 1));
    if (!found.has(port) && (await isPortFree(port))) found.add(port);
  }
  if (found.size < count)
    throw new Error(`no ${count} free ports between ${LOWEST} and ${HIGHEST}`);
  return [...found];
}

/** The lowest port of `count` consecutive free ones, for a whole stack on its own PORT_BASE. */
export async function freePortRange(count: number): Promise<number> {
  for (let tries = 0; tries < 500; tries++) {
    const base = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST - count));
    const ports = Array.from({ length: count }, (_, offset) => base + offset);
    const free = await Promise.all(ports.map((port) => isPortFree(port)));
    if (free.every(Boolean)) return base;
  }
  throw new Error(`no ${count} consecutive free ports between ${LOWEST} and ${HIGHEST}`);
}

/** Connects, sends `hello` if given, and returns the first bytes received; undefined after the timeout. */
export function firstAnswer(
  port: number,
  host: string,
  hello: string | undefined,
  timeoutMs: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const finish = (answer: string | undefined) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => finish(undefined), timeoutMs);
    socket.once("error", () => finish(undefined));
    socket.once("data", (data) => finish(data.toString("latin1")));
    socket.once("connect", () => {
      if (hello !== undefined) socket.write(hello);
    });
  });
}
