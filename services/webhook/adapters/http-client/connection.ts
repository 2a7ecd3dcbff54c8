import type { TLSSocket } from "node:tls";
import type { Target } from "../../domain/url-rules.ts";

/** Whoever has a connection at the moment: an request, the pool, or nobody. */
export type ConnectionListener = {
  /** The handshake is over; comes at most once in a connection's life. */
  onReady(connection: Connection): void;
  onData(connection: Connection, chunk: Buffer): void;
  /** The other side ended it, or it broke; then it has no listener any more. */
  onClosed(connection: Connection, error: Error | undefined): void;
};

const NO_LISTENER: ConnectionListener = {
  onReady: (connection) => connection.destroy(),
  onData: (connection) => connection.destroy(),
  onClosed: () => undefined,
};

/** A dead peer is found by the system's probes, which begin after so much silence. */
const PROBE_AFTER_MS = 1000;

/** A goodbye that cannot be sent is not waited for any longer. */
const CLOSE_TIMEOUT_MS = 1000;

/**
 * One TLS connection to a receiver. It listens to its socket once, and tells what happens to the
 * listener that it has then: adding and removing listeners for each request is much of what Node's own
 * client costs.
 */
export class Connection {
  readonly endpointId: string;
  readonly target: Target;
  listener: ConnectionListener = NO_LISTENER;
  /** Whether the handshake is over, so that what is written leaves. */
  isReady = false;
  /** Whether it has carried a request before the present one. */
  isReused = false;
  /** When it was made, by `performance.now()`. */
  readonly createdMs: number = performance.now();
  /** While idle: until when it may be used again, by `performance.now()`. */
  idleUntilMs = 0;
  readonly #socket: TLSSocket;

  constructor(endpointId: string, target: Target, socket: TLSSocket) {
    this.endpointId = endpointId;
    this.target = target;
    this.#socket = socket;
    socket.once("secureConnect", () => {
      this.isReady = true;
      // An attempt's timer keeps the process open; a connection that idles must not.
      socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS).unref();
      this.listener.onReady(this);
    });
    socket.on("data", (chunk: Buffer) => this.listener.onData(this, chunk));
    // Before the handshake is over, an end is followed by the error that says what it means.
    socket.on("end", () => this.isReady && this.#leave(undefined));
    socket.on("error", (error) => this.#leave(error));
    socket.on("close", () => this.#leave(undefined));
  }

  get isAlive(): boolean {
    return !this.#socket.destroyed;
  }

  /** Whether all that was written has been taken by the system. */
  get hasSentAll(): boolean {
    return this.#socket.writableLength === 0;
  }

  isFor({ host, port }: Target): boolean {
    return this.target.host === host && this.target.port === port;
  }

  /** Sends text as UTF-8, in one write. */
  write(text: string): void {
    this.#socket.write(text, "utf8");
  }

  /** Ends it as TLS asks (RFC 8446 section 6.1), though not at any price. */
  close(): void {
    this.listener = NO_LISTENER;
    if (this.isReady && this.hasSentAll) {
      this.#socket.setTimeout(CLOSE_TIMEOUT_MS, () => this.#socket.destroy());
      this.#socket.destroySoon();
    } else this.#socket.destroy();
  }

  /** Ends it at once, and its listener hears nothing of it. */
  destroy(): void {
    this.listener = NO_LISTENER;
    this.#socket.destroy();
  }

  /** Ends it as if the other side had; its listener hears of it. */
  abort(): void {
    this.#socket.destroy();
  }

  #leave(error: Error | undefined): void {
    const { listener } = this;
    this.listener = NO_LISTENER;
    listener.onClosed(this, error);
    this.#socket.destroy();
  }
}
