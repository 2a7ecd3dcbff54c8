/**
 * The NATS client's transport, ended where the client leaves it behind. Its own `close` does nothing to a
 * dial that is not over yet: when the server, frozen meanwhile, greets that one later, it counts as
 * connected, and when it then ends, the client believes that its connection has ended, and leaves a good
 * one open beside the next (nats-io/nats.js#64). Its own `disconnect`, for a server that has not answered
 * its pings, waits until what was written before has been taken, which nobody may take any more.
 */
import type { Socket } from "node:net";
import type { ConnectionOptions, NatsConnection } from "nats";
import { NatsConnectionImpl, setTransportFactory } from "nats/lib/nats-base-client/internal_mod.js";
import { NodeTransport, nodeResolveHost } from "nats/lib/src/node_transport.js";

class EndingTransport extends NodeTransport {
  #isLeft = false;

  override async dial(host: { hostname: string; port: number }): Promise<Socket> {
    const socket = await super.dial(host);
    if (this.#isLeft) socket.destroy();
    return socket;
  }

  override setupHandlers(): void {
    if (this.#isLeft) {
      this.connected = false;
      throw new Error("this dial was given up");
    }
    super.setupHandlers();
  }

  override async close(error?: Error): Promise<void> {
    this.#isLeft = true;
    if (this.connected) await super.close(error);
    else this.#destroy();
  }

  /** The socket's end ends the transport. */
  override disconnect(): void {
    this.#destroy();
  }

  /** There is no socket before the dial, whatever its type says. */
  #destroy(): void {
    (this.socket as Socket | undefined)?.destroy();
  }
}

/** Connects as the client's own `connect` does. */
export function connectNats(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
