/**
 * Answers that their clients do not read: bounded in octets over all connections. One that reads an octet now
 * and then is never still, and anybody can ask for a page; so where there is no room for more, the answer
 * that was begun first gives way, as a client in earnest has read its own within moments.
 */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Octets kept for all clients, and how often they are added up: far faster than they can be made. */
const BYTES_MAX = 67_108_864;
const LOOK_MS = 250;

/** Bounds the unread answers of a server; `stop` ends the looking. */
export function boundUnread(server: Server, bytesMax = BYTES_MAX): { stop(): void } {
  /** In the order in which they were begun. */
  const open = new Set<ServerResponse>();
  server.prependListener("request", (_request, response) => {
    open.add(response);
    response.once("close", () => open.delete(response));
  });
  const timer = setInterval(() => endOldest(open, bytesMax), LOOK_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

function endOldest(open: ReadonlySet<ServerResponse>, bytesMax: number): void {
  let total = 0;
  const unread = new Map<Socket, number>();
  for (const { req, writableLength } of open) {
    if (writableLength === 0) continue;
    total += writableLength;
    // What waits behind another answer of its connection counts, too.
    unread.set(req.socket, (unread.get(req.socket) ?? 0) + writableLength);
  }
  for (const [socket, bytes] of unread) {
    if (total <= bytesMax) return;
    total -= bytes;
    socket.destroy();
  }
}
