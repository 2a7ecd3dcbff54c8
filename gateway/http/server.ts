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

/** Bounds of every connection: what is slower or longer than this is refused. */
export const SERVER_OPTIONS: ServerOptions = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: 16_384,
  // The app itself answers a request without a host, as a problem.
  requireHostHeader: false,
};

/** How long before its body a request may have begun: a late body is the app's to answer, not the server's. */
const BEFORE_BODY_MS = 15_000;

/** The bounds of connections, where a body may take so long. */
export function serverOptions(bodyTimeoutMs: number): ServerOptions {
  const requestTimeout = Math.max(30_000, bodyTimeoutMs + BEFORE_BODY_MS);
  return { ...SERVER_OPTIONS, requestTimeout };
}

/** A connection on which nothing moves for so long ends: an answer that is not read, above all. */
const STILL_MAX_MS = 30_000;

/** Requests that a client may send ahead on one connection; each of them takes memory until it is answered. */
const AHEAD_MAX = 64;

/** How long busy connections get to leave by themselves before the idle ones are ended. */
const LEAVE_MS = 500;

/** How long requests in progress, and answers on their way, may go on after closing has begun. */
const CLOSE_GRACE_MS = 10_000;

/** How often it is looked whether answers have been read, and connections are idle, meanwhile. */
const CLOSE_LOOK_MS = 20;

/** How long a client may take to read the answer to what it sent wrongly. */
const FAREWELL_MS = 2000;

/**
 * Listens, and closes without dropping a request. From the moment the process is leaving, every
 * answer carries `Connection: close`, so that busy connections leave after an answer, never with a
 * request on its way; on closing there are no new connections, idle ones end, and those still at
 * work or at reading their answer are waited for.
 */
export async function listen(
  server: Server,
  options: {
    readonly host: string;
    readonly port: number;
    readonly docsUrl: string;
    /** Asked first; what it does not answer goes to `handle`. */
    readonly shed: Fast503;
    readonly handle: RequestListener;
    /** For how many more requests there is room. */
    readonly remainingCapacity: () => number;
    readonly leaveMs?: number;
    /** Load balancers have been told to go elsewhere, or are about to be. */
    readonly isLeaving?: () => boolean;
    /** Told of a connection that could not be taken. */
    readonly onError: (error: Error) => void;
  },
): Promise<HttpServer> {
  // The body reader says when to go on; expectations that nobody knows are not refused.
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  const refused = new WeakSet<Socket>();
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    // What comes behind wrong input is wrong each time anew; the first refusal ends the connection.
    if (refused.has(socket)) return;
    refused.add(socket);
    refuseInput(code, socket, options.docsUrl);
  });
  server.timeout = STILL_MAX_MS;
  const unread = createResponseBudget();
  const holder = createSocketPauser(options.remainingCapacity);
  let isClosing = false;
  const isLeaving = () => isClosing || options.isLeaving?.() === true;
  server.on("request", toListener({ ...options, isLeaving, unread, holder }));
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
      holder.close();
      unread.closeAfterResponse();
      await sleep(options.leaveMs ?? LEAVE_MS);
      await endConnections(server, unread);
      unread.stop();
    },
  };
}

/** Takes no more connections, and waits for those that are at work or at reading their answer. */
async function endConnections(server: Server, unread: ResponseBudget): Promise<void> {
  const looking = setInterval(() => {
    if (!unread.hasUnreadResponse()) server.closeIdleConnections();
  }, CLOSE_LOOK_MS);
  const ending = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  // An HTTP server's own would end what is idle at once, as to Node an answer is that is written, read or not.
  await new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  clearInterval(looking);
  clearTimeout(ending);
}

/** What a request meets, in order. A connection with too many requests that have not been answered ends. */
function toListener(options: {
  readonly shed: Fast503;
  readonly handle: RequestListener;
  readonly isLeaving: () => boolean;
  readonly unread: ResponseBudget;
  readonly holder: SocketPauser;
}): RequestListener {
  const { shed, handle, isLeaving, unread, holder } = options;
  const ahead = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // Its connection was ended for sending too much ahead, or told that it sent too slowly, or that an answer is
    // the last: what came in the same segment, or comes meanwhile, is nobody's.
    if (isConnectionDone(socket)) return;
    if (isLeaving()) closeAfterResponse(response);
    if (shed(request, response)) {
      if (!closesConnection(response)) holder.hold(socket);
      return;
    }
    const count = (ahead.get(socket) ?? 0) + 1;
    if (count > AHEAD_MAX) {
      socket.destroy();
      return;
    }
    ahead.set(socket, count);
    unread.add(response);
    response.once("close", () => {
      ahead.set(socket, (ahead.get(socket) ?? 1) - 1);
      unread.delete(response);
      if (response.statusCode === 503 && !closesConnection(response)) holder.hold(socket);
    });
    handle(request, response);
  };
}

/**
 * Answers input that is no HTTP, or not in time. An answer under way on the connection belongs
 * to an earlier request and goes first; input of the request that it answers gets no second one.
 */
function refuseInput(code: string | undefined, socket: Socket, docsUrl: string): void {
  const underWay = responseOn(socket);
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
  } else if (underWay === undefined) {
    // The rest of a body, of a request that has had its answer, gets no second one either.
    if (requestOn(socket)?.complete === false) socket.destroySoon();
    else farewell(socket, protocolErrorResponse(code, docsUrl));
  } else if (underWay.req.complete) {
    // Nothing more is read meanwhile: it would be kept, and nothing would bound it.
    socket.pause();
    // Behind it there may be the answer to a next request, which goes first, too.
    underWay.once("close", () => refuseInput(code, socket, docsUrl));
  } else if (underWay.headersSent) {
    socket.destroySoon();
  } else {
    // The request under way is the broken one; its handler finds the socket gone.
    farewell(socket, protocolErrorResponse(code, docsUrl));
  }
}

/** Sends the last bytes of a connection and ends it once the client has had time to read them. */
function farewell(socket: Socket, bytes: string): void {
  socket.end(bytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), FAREWELL_MS);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}
