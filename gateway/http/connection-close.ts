/**
 * The last answer of a connection. What a client has sent behind the request that it answers is not
 * processed (RFC 9112 section 9.6): nobody would hear what became of it.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

const decided = new WeakSet<Socket>();

/** Says `Connection: close` with an answer whose headers have not been sent. */
export function closeAfterResponse(response: ServerResponse): void {
  response.setHeader("Connection", "close");
  decided.add(response.req.socket);
}

/** Whether the connection ends with this answer, by our will or its client's. */
export function closesConnection(response: ServerResponse): boolean {
  return !response.shouldKeepAlive || decided.has(response.req.socket);
}

/** Whether nothing more can be answered on a connection: its last answer is decided, or was sent. */
export function isConnectionDone(socket: Socket): boolean {
  return !socket.writable || decided.has(socket);
}
