import type { LookupFunction } from "node:net";
import { connect, type SecureContext } from "node:tls";
import { evictOldest, setRecent } from "../../../shared/flow/lru.ts";
import type { Target } from "../../domain/url-rules.ts";
import { Connection, type ConnectionListener } from "./connection.ts";

/** ConnectionPool to receivers, kept between requests. */
export type ConnectionPool = {
  /** The endpoint's connection that was idle for the shortest time, or a new one. */
  acquire(endpointId: string, target: Target): Connection;
  /** Takes a connection back, for as long as the server keeps it too. */
  release(connection: Connection, keepAliveMs: number | undefined): void;
  /** Cuts all connections, and each that is made later. */
  close(): void;
};

/** TLS sessions kept, by host and port; the least recently renewed are forgotten first. */
const SESSIONS_MAX = 5000;

/** A name that leads elsewhere by now is followed after so long, however busy the connection is. */
const AGE_MAX_MS = 600_000;

/** A server that says when it hangs up is not met in that very moment. */
const MARGIN_MS = 1000;

/** Idle connections are looked through so many times while one may idle. */
const SWEEPS_PER_IDLE = 6;

/**
 * Makes the pools. An endpoint's pool is its own: one endpoint's connections never carry another's
 * requests, and beyond `poolsMax` the least recently used pools are closed.
 *
 * TLS sessions are shared: a connection that resumes one (RFC 8446 section 2.2) spares both sides
 * most of a handshake, also the first of an endpoint whose host another endpoint has too. So is the
 * context: reading some hundred certificates for each connection would cost more than the handshake.
 * No proxy of the environment is used: requests go where the address rules were checked.
 */
export function createConnectionPool(options: {
  readonly secureContext: SecureContext;
  readonly lookup: LookupFunction;
  /** How long one address of a name may take to connect before the next one is tried. */
  readonly addressTimeoutMs: number;
  /** How many connections of an endpoint may idle. */
  readonly socketsMax: number;
  readonly poolsMax: number;
  /** How long a connection may idle, unless the server says less. */
  readonly idleMs: number;
  /** How old a connection may become; ten minutes unless told. */
  readonly ageMaxMs?: number;
}): ConnectionPool {
  const { idleMs, ageMaxMs = AGE_MAX_MS } = options;
  const connecting = {
    secureContext: options.secureContext,
    lookup: options.lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: options.addressTimeoutMs,
    ALPNProtocols: ["http/1.1"],
    // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED of the environment would turn it off.
    rejectUnauthorized: true,
  };
  const sessions = new Map<string, Buffer>();
  const open = new Set<Connection>();
  let isClosed = false;
  const pools = createPools(options.poolsMax);
  // One timer for all: what is idle for too long is not used, and closed a little later.
  const sweeping = setInterval(() => pools.sweep(performance.now()), idleMs / SWEEPS_PER_IDLE);
  sweeping.unref();

  function dial(endpointId: string, target: Target): Connection {
    const { host, port } = target;
    // A session is offered only to the very host and port that issued it.
    const key = `${host}:${port}`;
    const session = sessions.get(key);
    const resuming = session === undefined ? {} : { session };
    const socket = connect({ ...connecting, ...resuming, host, port, servername: host });
    socket.on("session", (issued) => setRecent(sessions, key, issued, SESSIONS_MAX));
    socket.once("error", () => sessions.delete(key));
    const connection = new Connection(endpointId, target, socket);
    open.add(connection);
    socket.once("close", () => open.delete(connection));
    if (isClosed) connection.abort();
    return connection;
  }

  return {
    acquire: (endpointId, target) => pools.take(endpointId, target) ?? dial(endpointId, target),
    release(connection, keepAliveMs) {
      const nowMs = performance.now();
      const isOld = nowMs - connection.createdMs >= ageMaxMs;
      const keptMs = Math.min(idleMs, (keepAliveMs ?? Number.POSITIVE_INFINITY) - MARGIN_MS);
      if (keptMs <= 0 || isOld) {
        connection.close();
        return;
      }
      connection.idleUntilMs = nowMs + keptMs;
      pools.put(connection, options.socketsMax);
    },
    close() {
      isClosed = true;
      clearInterval(sweeping);
      for (const connection of [...open]) connection.abort();
    },
  };
}

/** Idle connections by endpoint; the last one put in is the first one taken out. */
function createPools(poolsMax: number) {
  const pools = new Map<string, Connection[]>();
  const idleListener: ConnectionListener = {
    onReady: () => undefined,
    // Nobody asked: what comes now could only be mistaken for the next answer.
    onData(connection) {
      remove(connection);
      connection.close();
    },
    onClosed: remove,
  };

  function remove(connection: Connection): void {
    const idle = pools.get(connection.endpointId);
    const at = idle?.indexOf(connection) ?? -1;
    if (at >= 0) idle?.splice(at, 1);
  }

  function add(connection: Connection, idleMax: number): void {
    const idle = pools.get(connection.endpointId);
    if (!connection.isAlive || (idle !== undefined && idle.length >= idleMax)) {
      connection.close();
    } else if (idle !== undefined) {
      idle.push(connection);
    } else {
      pools.set(connection.endpointId, [connection]);
      evictOldest(recentPools, poolsMax);
    }
  }

  const recentPools = {
    get size() {
      return pools.size;
    },
    keys: () => pools.keys(),
    delete(endpointId: string) {
      for (const connection of pools.get(endpointId) ?? []) connection.close();
      return pools.delete(endpointId);
    },
  };

  return {
    take(endpointId: string, target: Target): Connection | undefined {
      const idle = pools.get(endpointId);
      if (idle === undefined) return undefined;
      pools.delete(endpointId);
      pools.set(endpointId, idle);
      const nowMs = performance.now();
      for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
        // An endpoint's URL may have been changed since.
        if (found.idleUntilMs > nowMs && found.isFor(target)) {
          found.isReused = true;
          return found;
        }
        found.close();
      }
      return undefined;
    },
    put(connection: Connection, idleMax: number): void {
      connection.listener = idleListener;
      if (connection.hasSentAll) {
        add(connection, idleMax);
        return;
      }
      // An answer may be read in the very turn in which its request left, before the socket has told
      // so. Whoever answers what has not left by the next turn has not read it to its end.
      setImmediate(() => {
        if (connection.hasSentAll) add(connection, idleMax);
        else connection.close();
      });
    },
    sweep(nowMs: number): void {
      for (const [endpointId, idle] of pools) {
        const good = idle.filter(({ idleUntilMs }) => idleUntilMs > nowMs);
        for (const found of idle) if (found.idleUntilMs <= nowMs) found.close();
        if (good.length === 0) pools.delete(endpointId);
        else pools.set(endpointId, good);
      }
    },
  };
}
