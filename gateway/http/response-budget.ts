/**
 * Answers that their clients do not read: bounded in octets over all connections. One that reads an octet now
 * and then is never still, and anybody can ask for a page; so where there is no room for more, the answer
 * that was begun first gives way, as a client in earnest has read its own within moments.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { closeAfterResponse } from "./connection-close.ts";

/** Octets kept for all clients, and how often they are added up: far faster than they can be made. */
const BYTES_MAX = 67_108_864;
const LOOK_MS = 250;

/** The answers under way of a server. */
export type ResponseBudget = {
  add(response: ServerResponse): void;
  delete(response: ServerResponse): void;
  /** Makes the newest of each connection its last, unless it says already that it is not. */
  closeAfterResponse(): void;
  /** Whether there is one that is written whole and has not been read. */
  hasUnreadResponse(): boolean;
  /** Ends the looking. */
  stop(): void;
};

/** Bounds how much of the answers under way is unread. */
export function createResponseBudget(bytesMax = BYTES_MAX): ResponseBudget {
  /** In the order in which they were begun. */
  const open = new Set<ServerResponse>();
  const timer = setInterval(() => endOldest(open, bytesMax), LOOK_MS);
  timer.unref();
  return {
    add: (response) => void open.add(response),
    delete: (response) => void open.delete(response),
    closeAfterResponse() {
      // The answers before it go out, too.
      const newest = new Map([...open].map((response) => [response.req.socket, response]));
      for (const response of newest.values())
        if (!response.headersSent) closeAfterResponse(response);
    },
    hasUnreadResponse: () => open.values().some(({ writableEnded }) => writableEnded),
    stop: () => clearInterval(timer),
  };
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
