/**
 * The last response of a connection. Requests that the client pipelined behind it are not processed
 * (RFC 9112 section 9.6): their responses could not be sent.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

const closing = new WeakSet<Socket>();

/** Sets `Connection: close` on a response whose headers have not been sent. */
export function closeAfterResponse(response: ServerResponse): void {
  response.setHeader("Connection", "close");
  closing.add(response.req.socket);
}

/** Whether the connection ends with this response, by the server's decision or the client's. */
export function closesConnection(response: ServerResponse): boolean {
  return !response.shouldKeepAlive || closing.has(response.req.socket);
}

/** Whether no further request of a connection is served: its last response is decided or sent. */
export function isConnectionDone(socket: Socket): boolean {
  return !socket.writable || closing.has(socket);
}
