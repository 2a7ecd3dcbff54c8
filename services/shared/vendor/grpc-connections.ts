/**
 * What: a time limit for a client's dial, and no keepalive pings on a connection that is closing.
 * Why: grpc-js dials without a limit. A dial to a machine that accepts and stays silent, or to an address that is
 * gone, lasts minutes or for ever; the name is not resolved again meanwhile, and every call waits for its
 * deadline. And grpc-js pings a connection after GOAWAY; Node sends no ping there, grpc-js counts that as a
 * failure and ends the calls in progress.
 * Upstream: grpc/grpc-node#2785 (dial), grpc/grpc-node#3068 (ping).
 * Tried with: @grpc/grpc-js 1.14.7.
 * Tests: `test/integration/rpc/connections.slow.test.ts`, `test/unit/vendor/private-parts.test.ts`.
 */
import type { ClientHttp2Session, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { Http2SubchannelConnector } from "@grpc/grpc-js/build/src/transport.js";
import { KEEP_ALIVE_MS } from "../rpc/limits.ts";

/** Limit for TCP connect, TLS handshake and HTTP/2 settings together, in milliseconds. */
const DIAL_MAX_MS = 5000;

type Dial = { isOver: boolean; socket: Socket | undefined };
/** The parts of grpc-js that this file changes. */
type Connection = {
  readonly session: ClientHttp2Session;
  maybeSendPing(): void;
  shutdown(): void;
};
type Connector = {
  connect(...how: readonly unknown[]): Promise<Connection>;
  tcpConnect(...where: readonly unknown[]): Promise<Socket>;
};

limitDials(Http2SubchannelConnector.prototype as unknown as Connector);

function limitDials(connector: Connector): void {
  const { connect, tcpConnect } = connector;
  /** Each dial, by the connector made for it. */
  const dials = new WeakMap<Connector, Dial>();

  connector.tcpConnect = async function (this: Connector, ...where) {
    const dial = dials.get(this);
    const socket = await tcpConnect.apply(this, [...where]);
    if (dial?.isOver === true) {
      socket.destroy();
      throw new Error("this dial has timed out");
    }
    if (dial !== undefined) dial.socket = socket;
    // A closing connection gets no HTTP/2 pings; TCP keepalive then detects a dead peer.
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  };

  connector.connect = function (this: Connector, ...how) {
    // A failed dial ends the session of its connector. If dials shared one, a late failure would end the next session.
    const own: Connector = Object.create(this);
    const dial: Dial = { isOver: false, socket: undefined };
    dials.set(own, dial);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        dial.isOver = true;
        dial.socket?.destroy();
        reject(new Error(`the dial took longer than ${DIAL_MAX_MS} ms`));
      }, DIAL_MAX_MS);
      connect
        .apply(own, [...how])
        .then((connection) => {
          if (dial.isOver) connection.shutdown();
          else resolve(skipPingsWhenClosing(connection));
        })
        .catch(reject)
        .finally(() => clearTimeout(timer));
    });
  };
}

/** Sends no pings on a client's connection that is closing. */
function skipPingsWhenClosing(connection: Connection): Connection {
  const ping = connection.maybeSendPing.bind(connection);
  const { session } = connection;
  connection.maybeSendPing = () => {
    if (!session.closed || session.destroyed) ping();
  };
  return connection;
}

/** Reports a server's pings on a closing session as answered. */
export function answerPingsWhenClosing(session: ServerHttp2Session): void {
  const ping = session.ping.bind(session) as (...how: readonly unknown[]) => boolean;
  const patched = (...how: readonly unknown[]): boolean => {
    const onAnswer = how.at(-1);
    if (!session.closed || session.destroyed || typeof onAnswer !== "function") return ping(...how);
    setImmediate(() => onAnswer(null, 0, Buffer.alloc(8)));
    return true;
  };
  Object.assign(session, { ping: patched });
}
