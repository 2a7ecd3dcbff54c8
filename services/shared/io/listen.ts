import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A port that is listened on. */
export type Listening = {
  readonly port: number;
  /** Ends idle connections at once, and those at work after a second. */
  close(): Promise<void>;
};

/** How long connections at work have when a port closes. */
const CLOSE_GRACE_MS = 1000;

/** Listens; answers once connections are taken, and throws when the port cannot be had. 0 lets the system choose it. */
export async function listen(server: Server, host: string, port: number): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    // It stays: a connection that could not be taken later is an error, too, and ends nothing.
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
