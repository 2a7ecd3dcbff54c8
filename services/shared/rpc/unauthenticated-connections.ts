/**
 * Limits of connections on which no call has shown a valid token or certificate yet. Health and reflection are open to
 * them, and anyone who reaches the port can open connections.
 *
 * - unknown: the connection was opened. The limits below apply to it.
 * - trusted: a call on it was authenticated, by its headers alone. No limit applies any more.
 *
 * The oldest of these connections is closed for the newest: a probe or a caller needs milliseconds, so idle
 * connections and streams of an attacker are closed first and never keep a probe out.
 */
import type { Http2Session, Http2Stream, IncomingHttpHeaders } from "node:http2";
import { constants, type Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { createBoundedMap } from "../flow/bounded-map.ts";
import { startDeadlineTimer } from "../flow/deadline-timer.ts";
import { createTokenBucket, type TokenBucket } from "../flow/token-bucket.ts";

/** The largest message without authentication, in bytes. A health check or a reflection query has a few hundred. */
export const UNAUTHENTICATED_MESSAGE_BYTES = 4096;

/** The time until a request without authentication has arrived whole, in milliseconds. */
const ARRIVAL_MS = 10_000;

/** Connections without an authenticated call; an idle one takes about 30 KiB. */
const CONNECTIONS_MAX = 512;

/** Open streams of one connection, and of all of them; a stream buffers 64 KiB at most. */
const STREAMS_PER_CONNECTION = 32;
const STREAMS_MAX = 256;

/**
 * The budget of one connection: calls at once, and calls a second after that. Each message costs as much as a call,
 * and a reset as much as ten (CVE-2023-44487: a stream that is opened and reset costs its sender nothing).
 */
const CALLS_AT_ONCE = 1000;
const CALLS_PER_SECOND = 100;
const RESET_COST = 10;

/** The limit that was reached; a metric's label. */
export type UnauthenticatedLimit = "connections" | "streams" | "calls" | "arrival";

/** The guard of one server's listeners. */
export type UnauthenticatedGuard = {
  /** Decides about the listener's streams before its present listeners see them. */
  watch(listener: Http2Server): void;
  isUnauthenticated(session: Http2Session | undefined): boolean;
  /** Charges a message of such a connection as a call: one stream of reflection takes any number of them. */
  takeMessage(session: Http2Session | undefined): boolean;
  /**
   * Closes these connections, all or those without an open stream, because the server stops. A client that has sent
   * nothing yet would otherwise keep the server from closing.
   */
  end(which: "idle" | "all"): void;
};

type Connection = { readonly budget: TokenBucket; readonly streams: Set<Http2Stream> };

/** Creates a guard; `isKnown` checks a call by its headers. */
export function createUnauthenticatedGuard(options: {
  readonly isKnown: (headers: IncomingHttpHeaders, session: Http2Session) => boolean;
  readonly onLimit?: ((limit: UnauthenticatedLimit) => void) | undefined;
  readonly arrivalMs?: number | undefined;
}): UnauthenticatedGuard {
  const { isKnown, onLimit, arrivalMs = ARRIVAL_MS } = options;
  const unauthenticated = new Map<Http2Session, Connection>();
  const sockets = createBoundedMap<string, Socket>(CONNECTIONS_MAX, (oldest) => {
    onLimit?.("connections");
    oldest.destroy();
  });
  const streams = createBoundedMap<Http2Stream, Http2Stream>(STREAMS_MAX, (oldest) =>
    refuse(oldest, "streams"),
  );

  function onConnection(socket: Socket): void {
    const key = addressOf(socket);
    sockets.set(key, socket);
    socket.once("close", () => sockets.delete(key));
  }

  function onSession(session: Http2Session): void {
    const budget = createTokenBucket(CALLS_AT_ONCE, CALLS_PER_SECOND);
    unauthenticated.set(session, { budget, streams: new Set() });
    session.once("close", () => unauthenticated.delete(session));
  }

  function trust(session: Http2Session, { streams: open }: Connection): void {
    unauthenticated.delete(session);
    sockets.delete(addressOf(session.socket));
    for (const stream of open) streams.delete(stream);
  }

  /** Ends a connection whose budget is spent; frames that were read with the last one are ignored. */
  function charge(session: Http2Session, { budget }: Connection, cost: number): boolean {
    if (session.destroyed) return false;
    if (budget.take(cost)) return true;
    onLimit?.("calls");
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    return false;
  }

  function refuse(stream: Http2Stream, limit: UnauthenticatedLimit): void {
    onLimit?.(limit);
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  function open(stream: Http2Stream, session: Http2Session, connection: Connection): void {
    streams.set(stream, stream);
    connection.streams.add(stream);
    const timer = startDeadlineTimer(arrivalMs, () => {
      if (unauthenticated.has(session) && !stream.closed) refuse(stream, "arrival");
    });
    stream.once("end", () => clearTimeout(timer));
    stream.once("close", () => {
      clearTimeout(timer);
      streams.delete(stream);
      connection.streams.delete(stream);
    });
  }

  /** Whether the stream may go on to the server. */
  function admit(stream: Http2Stream, headers: IncomingHttpHeaders): boolean {
    const { session } = stream;
    const connection = session === undefined ? undefined : unauthenticated.get(session);
    if (session === undefined || connection === undefined) return session?.destroyed !== true;
    if (isKnown(headers, session)) {
      trust(session, connection);
      return true;
    }
    // A stream that ends with another code than "no error" emits an error, which would end the process.
    stream.on("error", () => {});
    stream.once("aborted", () => charge(session, connection, RESET_COST));
    if (!charge(session, connection, 1)) return false;
    if (connection.streams.size >= STREAMS_PER_CONNECTION) {
      refuse(stream, "streams");
      return false;
    }
    open(stream, session, connection);
    return true;
  }

  return {
    watch(listener) {
      const handlers = listener.listeners("stream");
      listener.removeAllListeners("stream");
      listener.on("stream", (stream, headers, ...rest) => {
        if (!admit(stream, headers)) return;
        for (const handle of handlers) handle.call(listener, stream, headers, ...rest);
      });
      listener.on("connection", onConnection);
      listener.prependListener("session", onSession);
    },
    isUnauthenticated: (session) => session !== undefined && unauthenticated.has(session),
    takeMessage(session) {
      const connection = session === undefined ? undefined : unauthenticated.get(session);
      if (session === undefined || connection === undefined) return true;
      return charge(session, connection, 1);
    },
    end(which) {
      const busy = new Set(
        [...unauthenticated].flatMap(([{ socket }, { streams: own }]) =>
          which === "idle" && own.size > 0 ? [addressOf(socket)] : [],
        ),
      );
      for (const [key, socket] of sockets.entries()) if (!busy.has(key)) socket.destroy();
    },
  };
}

/** The peer's address names a connection, also where TLS wraps its socket. */
function addressOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">) {
  return `${remoteAddress} ${remotePort}`;
}
