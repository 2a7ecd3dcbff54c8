/**
 * What: the response and the request in progress on a server's socket, and pausing its parser.
 * Why: Node tells `clientError` the socket only, so the answer to malformed input could overtake or corrupt a
 * response in progress. And `socket.pause()` alone does not last: Node resumes the socket at the end of the
 * request unless its own mark `_paused` is set.
 * Upstream: no issue known.
 * Tried with: Node 26.10.0 (`_httpMessage`, `_paused`, `parser`).
 * Tests: `test/unit/vendor/private-parts.test.ts`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

type Private = Socket & {
  _httpMessage?: ServerResponse | null;
  _paused?: boolean;
  readonly parser?: { readonly incoming: IncomingMessage | null; resume(): void } | null;
};

/** The response in progress on a socket. */
export function responseOn(socket: Socket): ServerResponse | undefined {
  return (socket as Private)._httpMessage ?? undefined;
}

/** The request that the socket's parser receives or received last. */
export function requestOn(socket: Socket): IncomingMessage | undefined {
  return (socket as Private).parser?.incoming ?? undefined;
}

/** Stops reading requests from a socket until `resumeRequests`. */
export function pauseRequests(socket: Socket): void {
  (socket as Private)._paused = true;
  socket.pause();
}

/** Reads requests again. */
export function resumeRequests(socket: Socket): void {
  const own = socket as Private;
  own._paused = false;
  own.parser?.resume();
  socket.resume();
}
