/**
 * A memory budget for responses that clients have not read, over all connections. A client that reads one byte
 * now and then is never idle, and anyone can request a page. Over the budget the connections with the oldest
 * responses are closed: a normal client reads its response within moments.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { closeAfterResponse } from "./connection-close.ts";

/** Unread bytes allowed over all connections. */
const BYTES_MAX = 67_108_864;

/** How often the bytes are summed: much faster than clients can request that many. */
const CHECK_INTERVAL_MS = 250;

/** The open responses of a server. */
export type ResponseBudget = {
  add(response: ServerResponse): void;
  delete(response: ServerResponse): void;
  /** Sets `Connection: close` on the newest response of each connection, unless its headers are sent. */
  closeConnections(): void;
  /** Whether a response is fully written and its client has not read it. */
  hasUnreadResponse(): boolean;
  /** Stops the check. */
  stop(): void;
};

/** Starts to check the budget. */
export function createResponseBudget(bytesMax = BYTES_MAX): ResponseBudget {
  /** The oldest first. */
  const open = new Set<ServerResponse>();
  const timer = setInterval(() => destroyOldest(open, bytesMax), CHECK_INTERVAL_MS);
  timer.unref();
  return {
    add: (response) => void open.add(response),
    delete: (response) => void open.delete(response),
    closeConnections() {
      // Only the newest: the earlier responses of the connection must be sent too.
      const newest = new Map([...open].map((response) => [response.req.socket, response]));
      for (const response of newest.values()) {
        if (!response.headersSent) closeAfterResponse(response);
      }
    },
    hasUnreadResponse: () => open.values().some(({ writableEnded }) => writableEnded),
    stop: () => clearInterval(timer),
  };
}

function destroyOldest(open: ReadonlySet<ServerResponse>, bytesMax: number): void {
  let total = 0;
  const unread = new Map<Socket, number>();
  for (const { req, writableLength } of open) {
    if (writableLength === 0) continue;
    total += writableLength;
    // Responses queued behind another one of the connection count too.
    unread.set(req.socket, (unread.get(req.socket) ?? 0) + writableLength);
  }
  for (const [socket, bytes] of unread) {
    if (total <= bytesMax) return;
    total -= bytes;
    socket.destroy();
  }
}
