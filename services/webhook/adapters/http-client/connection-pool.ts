import type { LookupFunction } from "node:net";
import { connect, type SecureContext } from "node:tls";
import { evictOldest, setRecent } from "../../../shared/flow/lru.ts";
import type { Target } from "../../domain/url-rules.ts";
import { Connection, type ConnectionListener } from "./connection.ts";

/** Connections to receivers, kept between requests. */
export type ConnectionPool = {
  /** The endpoint's most recently used idle connection, or a new one. */
  acquire(endpointId: string, target: Target): Connection;
  /** Returns a connection to the pool, for as long as the server keeps it too. */
  release(connection: Connection, keepAliveMs: number | undefined): void;
  /** Ends all connections, also later ones. */
  close(): void;
};

/** TLS sessions cached by host and port; the least recently renewed are evicted first. */
const SESSIONS_MAX = 5000;

/** Maximum age of a connection: a busy connection must follow a changed DNS name. */
const AGE_MAX_MS = 600_000;

/** Stop using a connection this long before the server closes it. */
const MARGIN_MS = 1000;

/** Sweeps per maximum idle time. */
const SWEEPS_PER_IDLE = 6;

/**
 * Each endpoint has its own pool: its connections never carry another endpoint's requests. Beyond
 * `poolsMax` the least recently used pools are closed.
 *
 * TLS sessions are shared: resuming one (RFC 8446 section 2.2) saves most of a handshake, also for
 * the first connection of another endpoint on the same host. The TLS context is shared too: parsing
 * some hundred certificates per connection would cost more than the handshake. Proxy settings of
 * the environment are ignored: requests go to the checked addresses.
 */
export function createConnectionPool(options: {
  readonly secureContext: SecureContext;
  readonly lookup: LookupFunction;
  /** Limit for connecting to one address before the next one is tried. */
  readonly addressTimeoutMs: number;
  /** Idle connections per endpoint. */
  readonly socketsMax: number;
  readonly poolsMax: number;
  /** How long a connection may idle, unless the server says less. */
  readonly idleMs: number;
  /** Maximum age of a connection; ten minutes by default. */
  readonly ageMaxMs?: number;
}): ConnectionPool {
  const { idleMs, ageMaxMs = AGE_MAX_MS } = options;
  const connecting = {
    secureContext: options.secureContext,
    lookup: options.lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: options.addressTimeoutMs,
    ALPNProtocols: ["http/1.1"],
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED in the environment would disable it.
    rejectUnauthorized: true,
  };
  const sessions = new Map<string, Buffer>();
  const open = new Set<Connection>();
  let isClosed = false;
  const pools = createPools(options.poolsMax);
  // One timer for all pools. An expired connection is never used, and closed a little later.
  const sweeping = setInterval(() => pools.sweep(performance.now()), idleMs / SWEEPS_PER_IDLE);
  sweeping.unref();

  function dial(endpointId: string, target: Target): Connection {
    const { host, port } = target;
    // A session is offered only to the host and port that issued it.
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

/** Idle connections by endpoint; the most recently added is used first. */
function createPools(poolsMax: number) {
  const pools = new Map<string, Connection[]>();
  const idleListener: ConnectionListener = {
    onReady: () => undefined,
    // Unrequested data would be read as the next response.
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
        // The endpoint's URL may have changed.
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
      // A response may be read in the event-loop turn in which its request left, before the socket
      // reports the write. A request that has not left by the next turn was not read to its end.
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
