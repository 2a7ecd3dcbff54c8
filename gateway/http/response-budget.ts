/**
 * A memory budget for responses that clients have not read. A client that reads one byte now and then is never
 * idle, and a short request can ask for a long page. A response counts from the moment it is made. Over a budget
 * the connections with the oldest responses are closed: a normal client reads its response within moments.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { closeAfterResponse } from "./connection-close.ts";

/** Limits on responses that clients have not read. */
export type ResponseBounds = {
  readonly bytesMax: number;
  /** Unread bytes of one owner. */
  readonly ownerBytesMax: number;
  /** Unread bytes of one connection that has several responses. */
  readonly connectionBytesMax: number;
  /** How long one response may stay unread. */
  readonly unreadMaxMs: number;
};

const MIB = 1_048_576;

/**
 * The largest response, a page of 100 messages with the longest texts, has about 1 MiB. In a minute even a client at
 * 20 KB/s reads it.
 */
const BOUNDS: ResponseBounds = {
  bytesMax: 48 * MIB,
  ownerBytesMax: 24 * MIB,
  connectionBytesMax: 8 * MIB,
  unreadMaxMs: 60_000,
};

/** Shorter responses are not counted: the pipelining limit of 64 requests bounds them on each connection. */
const COUNTED_BYTES_MIN = 8192;

/** How often the age of unread responses is checked. */
const CHECK_INTERVAL_MS = 1000;

/** The open responses of a server. */
export type ResponseBudget = {
  add(response: ServerResponse): void;
  delete(response: ServerResponse): void;
  /** Counts the bytes of an open response. An owner is a tenant, or empty for requests without a key. */
  hold(response: ServerResponse, bytes: number, owner: string): void;
  /** Sets `Connection: close` on the newest response of each connection, unless its headers are sent. */
  closeConnections(): void;
  /** Whether a response is fully written and its client has not read it. */
  hasUnreadResponse(): boolean;
  /** Stops the check. */
  stop(): void;
};

type Unread = {
  readonly bytes: number;
  readonly owner: string;
  readonly socket: Socket;
  readonly sinceMs: number;
};

/** Creates the budget of one server. */
export function createResponseBudget(bounds: ResponseBounds = BOUNDS): ResponseBudget {
  /** Open responses, the oldest first. */
  const open = new Set<ServerResponse>();
  const unread = new Map<ServerResponse, Unread>();
  const byOwner = new Map<string, number>();
  let total = 0;

  function count({ bytes, owner }: Unread, sign: 1 | -1): void {
    total += sign * bytes;
    const left = (byOwner.get(owner) ?? 0) + sign * bytes;
    if (left === 0) byOwner.delete(owner);
    else byOwner.set(owner, left);
  }

  function free(response: ServerResponse): void {
    const entry = unread.get(response);
    if (entry === undefined) return;
    unread.delete(response);
    count(entry, -1);
  }

  function closeConnection(socket: Socket): void {
    for (const [response, entry] of unread) if (entry.socket === socket) free(response);
    socket.destroy();
  }

  /** Closes the connections of the oldest matching responses while `isOver`. */
  function closeOldest(isOver: () => boolean, matches: (entry: Unread) => boolean): void {
    for (const entry of unread.values()) {
      if (!isOver()) return;
      if (matches(entry)) closeConnection(entry.socket);
    }
  }

  function checkConnection(socket: Socket): void {
    const own = unread.values().filter((entry) => entry.socket === socket);
    const sizes = own.map(({ bytes }) => bytes).toArray();
    const sum = sizes.reduce((bytes, one) => bytes + one, 0);
    if (sizes.length > 1 && sum > bounds.connectionBytesMax) closeConnection(socket);
  }

  const timer = setInterval(() => {
    const untilMs = performance.now() - bounds.unreadMaxMs;
    for (const { sinceMs, socket } of unread.values()) {
      if (sinceMs > untilMs) return;
      closeConnection(socket);
    }
  }, CHECK_INTERVAL_MS);
  timer.unref();

  return {
    add: (response) => void open.add(response),
    delete(response) {
      open.delete(response);
      free(response);
    },
    hold(response, bytes, owner) {
      if (bytes < COUNTED_BYTES_MIN || !open.has(response) || unread.has(response)) return;
      const { socket } = response.req;
      const entry = { bytes, owner, socket, sinceMs: performance.now() };
      unread.set(response, entry);
      count(entry, 1);
      checkConnection(socket);
      closeOldest(
        () => (byOwner.get(owner) ?? 0) > bounds.ownerBytesMax,
        (one) => one.owner === owner,
      );
      closeOldest(
        () => total > bounds.bytesMax,
        () => true,
      );
    },
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
