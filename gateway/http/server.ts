import type { RequestListener, Server, ServerOptions } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { requestOn, responseOn } from "../../services/shared/vendor/node-http-socket.ts";
import type { Fast503 } from "../load-shedding/fast-503.ts";
import { closeAfterResponse, closesConnection, isConnectionDone } from "./connection-close.ts";
import { createSocketPauser, type SocketPauser } from "./pause-refused-sockets.ts";
import { protocolErrorResponse } from "./protocol-errors.ts";
import { createResponseBudget, type ResponseBudget } from "./response-budget.ts";

/** A listening HTTP server. */
export type HttpServer = { readonly port: number; close(): Promise<void> };

/** Limits of every connection: slower or longer input is refused. */
export const SERVER_OPTIONS: ServerOptions = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: 16_384,
  // The application answers a request without a host with a problem.
  requireHostHeader: false,
};

/**
 * The server's request timeout, which includes the headers, exceeds the body timeout by at least this: the application,
 * not the server, then answers a late body.
 */
const BEFORE_BODY_MS = 15_000;

/** The server options for a body timeout. */
export function serverOptions(bodyTimeoutMs: number): ServerOptions {
  const requestTimeout = Math.max(30_000, bodyTimeoutMs + BEFORE_BODY_MS);
  return { ...SERVER_OPTIONS, requestTimeout };
}

/** A connection without traffic is closed after this time; mostly its client does not read the response. */
const IDLE_MAX_MS = 30_000;

/** Requests that a client may pipeline on one connection; each takes memory until it is answered. */
const PIPELINED_MAX = 64;

/** On closing: how long busy connections may leave after a response before idle ones are closed. */
const LEAVE_MS = 500;

/** On closing: how long requests and responses in progress may continue. */
const CLOSE_GRACE_MS = 10_000;

/** On closing: how often to check whether responses are read and connections idle. */
const CLOSE_CHECK_INTERVAL_MS = 20;

/** How long a client may take to read the response to malformed input. */
const PROTOCOL_ERROR_READ_MS = 2000;

/**
 * Listens, and closes without dropping a request. As soon as `isLeaving` is true every response carries
 * `Connection: close`: busy connections end after a response, never with a request in transit. `close` accepts no
 * more connections, closes idle ones, and waits for requests in progress and for responses being read.
 */
export async function listen(
  server: Server,
  options: {
    readonly host: string;
    readonly port: number;
    readonly docsUrl: string;
    /** Runs first; requests that it does not answer go to `handle`. */
    readonly fast503: Fast503;
    readonly handle: RequestListener;
    /** The budget in which the application counts its responses. */
    readonly responses?: ResponseBudget;
    /** How many more requests the load limiter admits. */
    readonly remainingCapacity: () => number;
    readonly leaveMs?: number;
    /** How long a refused connection is not read while there is no capacity; 500 ms unless set. */
    readonly refusedPauseMs?: number;
    /** Whether readiness fails, or is about to, so that load balancers use other processes. */
    readonly isLeaving?: () => boolean;
    /** Called when a connection could not be accepted. */
    readonly onError: (error: Error) => void;
  },
): Promise<HttpServer> {
  // The body reader sends `100 Continue`; unknown expectations are not refused.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  const refused = new WeakSet<Socket>();
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    // The first refusal ends the connection; input behind malformed input raises the event again.
    if (refused.has(socket)) return;
    refused.add(socket);
    refuseInput(code, socket, options.docsUrl);
  });
  server.timeout = IDLE_MAX_MS;
  const { responses = createResponseBudget() } = options;
  const pauser = createSocketPauser(options.remainingCapacity, options.refusedPauseMs);
  let isClosing = false;
  const isLeaving = () => isClosing || options.isLeaving?.() === true;
  server.on("request", toListener({ ...options, isLeaving, responses, pauser }));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: options.host, port: options.port, backlog: 2048 }, () => {
      server.off("error", reject).on("error", options.onError);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      isClosing = true;
      pauser.close();
      responses.closeConnections();
      await sleep(options.leaveMs ?? LEAVE_MS);
      await endConnections(server, responses);
      responses.stop();
    },
  };
}

/** Accepts no more connections, and waits for those with a request in progress or a response being read. */
async function endConnections(server: Server, responses: ResponseBudget): Promise<void> {
  const checking = setInterval(() => {
    if (!responses.hasUnreadResponse()) server.closeIdleConnections();
  }, CLOSE_CHECK_INTERVAL_MS);
  const ending = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  // The HTTP server's own `close` ends idle connections at once, and to Node a connection whose response is
  // written but not read is idle.
  await new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  clearInterval(checking);
  clearTimeout(ending);
}

/** The steps before the application. A connection with too many pipelined requests is destroyed. */
function toListener(options: {
  readonly fast503: Fast503;
  readonly handle: RequestListener;
  readonly isLeaving: () => boolean;
  readonly responses: ResponseBudget;
  readonly pauser: SocketPauser;
}): RequestListener {
  const { fast503, handle, isLeaving, responses, pauser } = options;
  const unanswered = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // Ignore requests pipelined behind the connection's last response.
    if (isConnectionDone(socket)) return;
    if (isLeaving()) closeAfterResponse(response);
    if (fast503(request, response)) {
      if (!closesConnection(response)) pauser.pause(socket);
      return;
    }
    const count = (unanswered.get(socket) ?? 0) + 1;
    if (count > PIPELINED_MAX) {
      socket.destroy();
      return;
    }
    unanswered.set(socket, count);
    responses.add(response);
    response.once("close", () => {
      unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1);
      responses.delete(response);
      if (response.statusCode === 503 && !closesConnection(response)) pauser.pause(socket);
    });
    handle(request, response);
  };
}

/**
 * Answers input that is not HTTP, or is too slow. A response in progress on the connection belongs to an earlier
 * request and is sent first. If it belongs to the malformed request itself, there is no second response.
 */
function refuseInput(code: string | undefined, socket: Socket, docsUrl: string): void {
  const current = responseOn(socket);
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
  } else if (current === undefined) {
    // The request has had its response: the rest of its body gets no second one.
    if (requestOn(socket)?.complete === false) socket.destroySoon();
    else endWith(socket, protocolErrorResponse(code, docsUrl));
  } else if (current.req.complete) {
    // Stop reading meanwhile: further input would be kept in memory without bound.
    socket.pause();
    // Check again afterwards: the response to a next pipelined request may be in progress then.
    current.once("close", () => refuseInput(code, socket, docsUrl));
  } else if (current.headersSent) {
    socket.destroySoon();
  } else {
    // The request in progress is the malformed one; its handler finds the socket closed.
    endWith(socket, protocolErrorResponse(code, docsUrl));
  }
}

/** Sends the last bytes of a connection, and closes it after the client had time to read them. */
function endWith(socket: Socket, bytes: string): void {
  socket.end(bytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), PROTOCOL_ERROR_READ_MS);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}
