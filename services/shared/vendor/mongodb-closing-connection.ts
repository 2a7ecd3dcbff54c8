import { Connection } from "mongodb/lib/cmap/connection.js";

/**
 * The driver's connection, whose closing nobody waits out for ever. What the socket did not take at
 * once is awaited by the driver until the socket has drained or failed; a socket that is destroyed
 * without a fault, as by a timeout or when the pool is cleared, does neither. So it is told that it
 * has drained: it then looks whether the connection is closed, and fails with the reason why.
 *
 * The word comes one turn later, when a write that began in this one waits already.
 */
export class ClosingConnection extends Connection {
  override cleanup(error: Error): void {
    if (this.closed) return;
    super.cleanup(error);
    setImmediate(() => this.socket.emit("drain"));
  }
}
