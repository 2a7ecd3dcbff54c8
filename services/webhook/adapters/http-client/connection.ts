import type { TLSSocket } from "node:tls";
import type { Target } from "../../domain/url-rules.ts";

/** Whoever has a connection at the moment: an exchange, the pool, or nobody. */
export type ConnectionUser = {
  /** The handshake is over; comes at most once in a connection's life. */
  onReady(connection: Connection): void;
  onData(connection: Connection, chunk: Buffer): void;
  /** The other side ended it, or it broke; then it has no user any more. */
  onGone(connection: Connection, error: Error | undefined): void;
};

const NOBODY: ConnectionUser = {
  onReady: (connection) => connection.destroy(),
  onData: (connection) => connection.destroy(),
  onGone: () => undefined,
};

/** A dead peer is found by the system's probes, which begin after so much silence. */
const PROBE_AFTER_MS = 1000;

/** A goodbye that cannot be sent is not waited for any longer. */
const GOODBYE_MS = 1000;

/**
 * One TLS connection to a receiver. It listens to its socket once, and tells what happens to the
 * user that it has then: adding and removing listeners for each request is much of what Node's own
 * client costs.
 */
export class Connection {
  readonly endpointId: string;
  readonly target: Target;
  user: ConnectionUser = NOBODY;
  /** Whether the handshake is over, so that what is written leaves. */
  isReady = false;
  /** Whether it has carried a request before the present one. */
  isReused = false;
  /** When it was made, by `performance.now()`. */
  readonly bornMs: number = performance.now();
  /** While idle: until when it may be used again, by `performance.now()`. */
  idleUntilMs = 0;
  readonly #socket: TLSSocket;

  constructor(endpointId: string, target: Target, socket: TLSSocket) {
    this.endpointId = endpointId;
    this.target = target;
    this.#socket = socket;
    socket.once("secureConnect", () => {
      this.isReady = true;
      // An attempt's timer keeps the process alive; a connection that idles must not.
      socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS).unref();
      this.user.onReady(this);
    });
    socket.on("data", (chunk: Buffer) => this.user.onData(this, chunk));
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

  leadsTo({ host, port }: Target): boolean {
    return this.target.host === host && this.target.port === port;
  }

  /** Sends text as UTF-8, in one write. */
  write(text: string): void {
    this.#socket.write(text, "utf8");
  }

  /** Ends it as TLS asks (RFC 8446 section 6.1), though not at any price. */
  retire(): void {
    this.user = NOBODY;
    if (this.isReady && this.hasSentAll) {
      this.#socket.setTimeout(GOODBYE_MS, () => this.#socket.destroy());
      this.#socket.destroySoon();
    } else this.#socket.destroy();
  }

  /** Ends it at once, and its user hears nothing of it. */
  destroy(): void {
    this.user = NOBODY;
    this.#socket.destroy();
  }

  /** Ends it as if the other side had; its user hears of it. */
  cut(): void {
    this.#socket.destroy();
  }

  #leave(error: Error | undefined): void {
    const { user } = this;
    this.user = NOBODY;
    user.onGone(this, error);
    this.#socket.destroy();
  }
}
