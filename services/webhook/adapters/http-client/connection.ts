import type { TLSSocket } from "node:tls";
import type { Target } from "../../domain/url-rules.ts";

/** The current user of a connection: a request, the pool, or none. */
export type ConnectionListener = {
  /** Called after the handshake, at most once per connection. */
  onReady(connection: Connection): void;
  onData(connection: Connection, chunk: Buffer): void;
  /** Called when the other side ended the connection, or it broke. The connection then has no listener. */
  onClosed(connection: Connection, error: Error | undefined): void;
};

const NO_LISTENER: ConnectionListener = {
  onReady: (connection) => connection.destroy(),
  onData: (connection) => connection.destroy(),
  onClosed: () => undefined,
};

/** The system's keep-alive probes, which find a dead peer, start after this silence. */
const PROBE_AFTER_MS = 1000;

/** Limit for sending the closing alert. */
const CLOSE_TIMEOUT_MS = 1000;

/**
 * One TLS connection to a receiver. It adds its socket listeners once, and they call the attempt that uses
 * the connection. Adding and removing listeners for each request is much of the cost of Node's client.
 */
export class Connection {
  readonly endpointId: string;
  readonly target: Target;
  listener: ConnectionListener = NO_LISTENER;
  /** Whether the handshake is over, so that writes leave. */
  isReady = false;
  /** Whether it carried a request before the present one. */
  isReused = false;
  /** When it was created, by `performance.now()`. */
  readonly createdMs: number = performance.now();
  /** While idle: when it must not be used any more, by `performance.now()`. */
  idleUntilMs = 0;
  readonly #socket: TLSSocket;

  constructor(endpointId: string, target: Target, socket: TLSSocket) {
    this.endpointId = endpointId;
    this.target = target;
    this.#socket = socket;
    socket.once("secureConnect", () => {
      this.isReady = true;
      // The timer of an attempt keeps the process running; an idle connection must not.
      socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS).unref();
      this.listener.onReady(this);
    });
    socket.on("data", (chunk: Buffer) => this.listener.onData(this, chunk));
    // Before the handshake ends, an error follows the end and says its cause.
    socket.on("end", () => this.isReady && this.#leave(undefined));
    socket.on("error", (error) => this.#leave(error));
    socket.on("close", () => this.#leave(undefined));
  }

  get isAlive(): boolean {
    return !this.#socket.destroyed;
  }

  /** Whether the system has taken everything that was written. */
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

  /** Closes with a TLS alert (RFC 8446 section 6.1), within a time limit. */
  close(): void {
    this.listener = NO_LISTENER;
    if (this.isReady && this.hasSentAll) {
      this.#socket.setTimeout(CLOSE_TIMEOUT_MS, () => this.#socket.destroy());
      this.#socket.destroySoon();
    } else this.#socket.destroy();
  }

  /** Closes at once, without a call of its listener. */
  destroy(): void {
    this.listener = NO_LISTENER;
    this.#socket.destroy();
  }

  /** Closes as if the other side had; calls its listener. */
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
