/**
 * What grpc-js lacks in how it keeps connections. It shows none of this; its version is pinned, and
 * `test/integration/rpc/connections.test.ts` tells when it behaves otherwise.
 *
 * - A dial has no limit: to a machine that takes the connection and then says nothing, or whose address
 *   nobody has any more, it lasts for minutes or for ever. Nobody asks for the name anew meanwhile, and
 *   every call waits out its deadline (grpc/grpc-node#2785).
 * - A connection that is on its way out (GOAWAY, its age) is asked for a sign of life like any other. Node
 *   sends no ping on it, which counts as a failure, and ends the calls that were to be spared (#3068).
 */
import type { ClientHttp2Session, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { Http2SubchannelConnector } from "@grpc/grpc-js/build/src/transport.js";
import { KEEP_ALIVE_MS } from "./limits.ts";

/**
 * Connection, handshake and settings together, in milliseconds. A socket that is still connecting then
 * is ended by the system, or once it is connected.
 */
const DIAL_MAX_MS = 5000;

type Dial = { isOver: boolean; socket: Socket | undefined };
/** The parts of grpc-js that are changed here. */
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
  /** By the connector that a dial has for itself. */
  const dials = new WeakMap<Connector, Dial>();

  connector.tcpConnect = async function (this: Connector, ...where) {
    const dial = dials.get(this);
    const socket = await tcpConnect.apply(this, [...where]);
    if (dial?.isOver === true) {
      socket.destroy();
      throw new Error("this dial was given up");
    }
    if (dial !== undefined) dial.socket = socket;
    // A connection on its way out is asked for no other sign of life.
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  };

  connector.connect = function (this: Connector, ...how) {
    // A dial ends the session that its connector has: with the shared one, a late end would be the next one's.
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
          else resolve(spareOwn(connection));
        })
        .catch(reject)
        .finally(() => clearTimeout(timer));
    });
  };
}

/** A client's connection on its way out is pinged no more. */
function spareOwn(connection: Connection): Connection {
  const ping = connection.maybeSendPing.bind(connection);
  const { session } = connection;
  connection.maybeSendPing = () => {
    if (!session.closed || session.destroyed) ping();
  };
  return connection;
}

/** A server's pings on a connection on its way out count as answered. */
export function spareClosing(session: ServerHttp2Session): void {
  const ping = session.ping.bind(session) as (...how: readonly unknown[]) => boolean;
  const spared = (...how: readonly unknown[]): boolean => {
    const onAnswer = how.at(-1);
    if (!session.closed || session.destroyed || typeof onAnswer !== "function") return ping(...how);
    setImmediate(() => onAnswer(null, 0, Buffer.alloc(8)));
    return true;
  };
  Object.assign(session, { ping: spared });
}
