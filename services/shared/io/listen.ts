import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A listening port. */
export type Listening = {
  readonly port: number;
  /** Ends idle connections at once, and busy ones after a second. */
  close(): Promise<void>;
};

/** The time limit of busy connections when a port closes. */
const CLOSE_GRACE_MS = 1000;

/**
 * Listens; resolves once the port accepts connections, and throws when it is not available. With port 0 the
 * system chooses one.
 */
export async function listen(server: Server, host: string, port: number): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    // The handler stays: a later connection that cannot be accepted is an error too, and must end nothing.
    server.on("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS).unref();
      }),
  };
}
