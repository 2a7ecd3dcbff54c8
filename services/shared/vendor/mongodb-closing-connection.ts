/**
 * What: a driver connection whose pending writes fail when it closes.
 * Why: the driver waits for a write until the socket drains or fails. A socket that is destroyed without an error,
 * by a timeout or when the pool is cleared, does neither, and the operation never ends.
 * Upstream: no issue known. ADR: `docs/adr/0069-patch-mongodb-writes-on-a-closed-socket.md`.
 * Tried with: mongodb 7.9.0 (`lib/cmap/connection.js`).
 * Tests: `test/integration/io/mongo-outages.test.ts`, `test/unit/vendor/private-parts.test.ts`.
 */
import { Connection } from "mongodb/lib/cmap/connection.js";

/**
 * Emits `drain` on the socket when the connection closes. The driver then checks whether the connection is
 * closed, and fails the operation with the reason. The event comes one tick later, so that a write that
 * starts in this tick waits already.
 */
export class ClosingConnection extends Connection {
  override cleanup(error: Error): void {
    if (this.closed) return;
    super.cleanup(error);
    setImmediate(() => this.socket.emit("drain"));
  }
}
