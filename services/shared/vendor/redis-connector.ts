/**
 * What: a connector of the Redis client that looks addresses up by a given function.
 * Why: the client's own connector passes no `lookup` to the socket, so every attempt begins with the same address.
 * Upstream: none; the option `Connector` is in the types and not in the documentation.
 * Tried with: ioredis 6.0.0 (`built/connectors/StandaloneConnector.js`).
 * Tests: `test/integration/io/silent-addresses.test.ts`.
 */
import { connect, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, type RedisOptions } from "ioredis";

/** The option `Connector`, and the socket that it opened last. */
export type RedisConnector = {
  readonly Connector: new (options: unknown) => AbstractConnector;
  readonly socket: () => Socket | undefined;
};

const DISCONNECT_TIMEOUT_MS = 2000;

export function createRedisConnector(lookup: LookupFunction): RedisConnector {
  let socket: Socket | undefined;

  class Connector extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout ?? DISCONNECT_TIMEOUT_MS);
      this.#options = options as RedisOptions;
    }

    override async connect(): Promise<Socket> {
      this.connecting = true;
      // As the client's own connector: `disconnect` may be called in the same turn of the event loop.
      await new Promise((resolve) => process.nextTick(resolve));
      if (!this.connecting) throw new Error("Connection is closed.");
      const { host = "localhost", port = 6379, path, tls } = this.#options;
      const target = path === undefined ? { host, port, lookup } : { path };
      const stream = tls === undefined ? connect(target) : connectTls({ ...target, ...tls });
      stream.once("error", (error) => {
        this.firstError = error;
      });
      socket = stream;
      this.stream = stream;
      return stream;
    }
  }

  return { Connector, socket: () => socket };
}
