/** A TCP proxy on loopback that a test can cut, slow down, or turn into a black hole. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The state of the link. A black hole keeps its connections and forwards nothing. */
export type LinkMode =
  | { readonly kind: "open" }
  | { readonly kind: "cut" }
  | { readonly kind: "slow"; readonly delayMs: number }
  | { readonly kind: "black_hole" };

/** A running proxy. */
export type TcpProxy = {
  readonly port: number;
  /** Connections made through it so far. */
  readonly connections: number;
  /** Those of them that are open on both sides. */
  readonly open: number;
  setMode(mode: LinkMode): void;
  /** Names the port behind it; may be called after clients have come. */
  aimAt(port: number): void;
  close(): Promise<void>;
};

/** Rewrites the server's bytes; must keep the length. */
export type Rewrite = (chunk: Buffer) => Buffer;

type Half = { readonly source: Socket; readonly sink: Socket; readonly rewrite?: Rewrite };

/** Opens a proxy on a free port. `rewriteAnswers` gets the bytes from the server. */
export async function openTcpProxy(
  rewriteAnswers?: (own: number, aim: number) => Rewrite,
): Promise<TcpProxy> {
  let mode: LinkMode = { kind: "open" };
  let aim = 0;
  let connections = 0;
  const sockets = new Set<Socket>();
  const halves = new Set<Half>();

  const server = createServer({ noDelay: true, pauseOnConnect: true }, (client) => {
    connections += 1;
    if (mode.kind === "cut" || aim === 0) return void client.resetAndDestroy();
    const upstream = connect({ port: aim, host: "127.0.0.1", noDelay: true });
    const { port } = server.address() as AddressInfo;
    const rewrite = rewriteAnswers?.(port, aim);
    const pair: Half[] = [
      { source: client, sink: upstream },
      { source: upstream, sink: client, ...(rewrite === undefined ? {} : { rewrite }) },
    ];
    for (const half of pair) join(half);
  });

  function join(half: Half): void {
    const { source, sink, rewrite } = half;
    sockets.add(source);
    halves.add(half);
    let waiting = Promise.resolve();
    const later = (act: () => void) => {
      if (mode.kind !== "slow") return waiting.then(act);
      const dueMs = performance.now() + mode.delayMs;
      return waiting.then(() => until(dueMs)).then(act);
    };
    let isDelayed = 0;
    const inOrder = (act: () => void) => {
      if (mode.kind !== "slow" && isDelayed === 0) return act();
      isDelayed += 1;
      waiting = later(act).finally(() => {
        isDelayed -= 1;
      });
    };
    source.on("data", (chunk: Buffer) => {
      inOrder(() => {
        if (sink.destroyed) return;
        if (!sink.write(rewrite === undefined ? chunk : rewrite(chunk))) source.pause();
      });
    });
    sink.on("drain", () => {
      if (mode.kind !== "black_hole") source.resume();
    });
    source.on("end", () => inOrder(() => void sink.end()));
    source.on("error", () => undefined);
    source.on("close", () => {
      sockets.delete(source);
      halves.delete(half);
      inOrder(() => void sink.destroy());
    });
    if (mode.kind !== "black_hole") source.resume();
    else source.pause();
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get connections() {
      return connections;
    },
    get open() {
      return halves.size / 2;
    },
    aimAt(target) {
      aim = target;
    },
    setMode(next) {
      mode = next;
      if (next.kind === "cut") for (const socket of sockets) socket.resetAndDestroy();
      for (const { source } of halves) {
        if (next.kind === "black_hole") source.pause();
        else source.resume();
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/**
 * MongoDB drivers connect to the address that the server names, not to the one that they were given: this lets the
 * server's answers name the proxy. Both ports must have the same number of digits.
 */
export function renameMongoHost(own: number, aim: number): Rewrite {
  const wanted = Buffer.from(`127.0.0.1:${own}`);
  const real = Buffer.from(`127.0.0.1:${aim}`);
  if (wanted.length !== real.length) throw new RangeError("the ports differ in length");
  return (chunk) => {
    for (let at = chunk.indexOf(real); at >= 0; at = chunk.indexOf(real, at + real.length)) {
      wanted.copy(chunk, at);
    }
    return chunk;
  };
}

function until(dueMs: number): Promise<void> {
  const leftMs = dueMs - performance.now();
  return leftMs <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, leftMs));
}
