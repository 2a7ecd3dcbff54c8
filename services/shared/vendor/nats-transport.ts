/**
 * What: a NATS transport that ends its socket whenever the client abandons it.
 * Why: the client's `close` does not end a dial in progress. When a frozen server greets that dial later, it counts as
 * connected; when it then ends, the client believes that its connection has ended, and leaves a good one open.
 * And the client's `disconnect`, used after unanswered pings, waits until earlier writes have drained,
 * which may never happen.
 * Upstream: nats-io/nats.js#64.
 * Tried with: nats 2.29.3 (`lib/src/node_transport.js`, `lib/nats-base-client/internal_mod.js`).
 * Tests: `test/integration/io/nats-reconnect.slow.test.ts`, `test/unit/vendor/private-parts.test.ts`.
 */
import type { Socket } from "node:net";
import type { ConnectionOptions, NatsConnection } from "nats";
import { NatsConnectionImpl, setTransportFactory } from "nats/lib/nats-base-client/internal_mod.js";
import { NodeTransport, nodeResolveHost } from "nats/lib/src/node_transport.js";

class EndingTransport extends NodeTransport {
  #isClosed = false;

  override async dial(host: { hostname: string; port: number }): Promise<Socket> {
    const socket = await super.dial(host);
    if (this.#isClosed) socket.destroy();
    return socket;
  }

  override setupHandlers(): void {
    if (this.#isClosed) {
      this.connected = false;
      throw new Error("the client has closed this dial");
    }
    super.setupHandlers();
  }

  override async close(error?: Error): Promise<void> {
    this.#isClosed = true;
    if (this.connected) await super.close(error);
    else this.#destroy();
  }

  /** Ends the socket, which ends the transport. */
  override disconnect(): void {
    this.#destroy();
  }

  /** Before the dial there is no socket, although the type has one. */
  #destroy(): void {
    (this.socket as Socket | undefined)?.destroy();
  }
}

/** Connects like the client's `connect`, with this transport. */
export function connectNats(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
