/** Types of the private part of the driver that `mongodb-closing-connection.ts` extends. */
declare module "mongodb/lib/cmap/connection.js" {
  import type { Duplex } from "node:stream";

  /** The driver's connection to one server, mongodb 7.9. */
  export class Connection {
    readonly socket: Duplex;
    /** True once `cleanup` has run. */
    readonly closed: boolean;
    /** Destroys the socket; from then on every use of the connection throws `error`. */
    cleanup(error: Error): void;
  }
}
