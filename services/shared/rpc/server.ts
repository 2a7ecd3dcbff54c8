/** Serves Connect routes over gRPC on grpc-js: the server of every service process. */
import type { Http2Session } from "node:http2";
import { TLSSocket } from "node:tls";
import type { DescService } from "@bufbuild/protobuf";
import {
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from "@grpc/grpc-js";
import { answerPingsWhenClosing } from "../vendor/grpc-connections.ts";
import { allowStreamResets } from "../vendor/grpc-http2-options.ts";
import { limitReceived, sessionOf } from "../vendor/grpc-receive-limit.ts";
import { listenersOf, sendGoaway } from "../vendor/grpc-server-sessions.ts";
import type { RpcAuth } from "./auth.ts";
import type { CallReport, RpcLog } from "./call-report.ts";
import { shortenDeadline } from "./clamp-deadline.ts";
import { createHealth, type HealthControl } from "./health.ts";
import { DEFAULT_MESSAGE_BYTES, KEEP_ALIVE_MS, KEEP_ALIVE_TIMEOUT_MS } from "./limits.ts";
import { type RpcTlsFiles, serverCredentialsFrom } from "./mutual-tls.ts";
import { createReflection } from "./reflection.ts";
import { collectRoutes, type Route, type Routes } from "./routes.ts";
import { type CallHost, ServerCall } from "./server-call.ts";
import {
  createUnauthenticatedGuard,
  UNAUTHENTICATED_MESSAGE_BYTES,
  type UnauthenticatedGuard,
  type UnauthenticatedLimit,
} from "./unauthenticated-connections.ts";

/** PEM files' contents; with `ca`, clients must show a certificate signed by it (mutual TLS). */
export type RpcServerTls = { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer };

/** The options of a server; every limit has a default. */
export type RpcServerOptions = {
  readonly routes: Routes;
  /** Without it the server accepts every caller. Health and reflection are always open. */
  readonly auth?: RpcAuth | undefined;
  readonly tls?: RpcServerTls | RpcTlsFiles | undefined;
  /** The largest message in either direction. 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Concurrent calls; the server refuses further ones with UNAVAILABLE and RetryInfo. 1,024. */
  readonly maxInFlight?: number;
  /** Time limit of unary calls whose caller set no deadline. 60 s. */
  readonly unaryTimeoutMs?: number;
  /**
   * At about this age (grpc-js adds ±10 %) the server asks clients to leave a connection, so that load spreads
   * to new replicas. 0 for never; 5 min.
   */
  readonly maxConnectionAgeMs?: number;
  /** The time limit of calls on a connection past its age. 1 h. */
  readonly maxConnectionAgeGraceMs?: number;
  readonly onCall?: ((report: CallReport) => void) | undefined;
  readonly log?: RpcLog | undefined;
  /** Called when callers without a valid token reach one of their limits. */
  readonly onUnauthenticatedLimit?: ((limit: UnauthenticatedLimit) => void) | undefined;
  /** How long the request of a caller without a valid token may take to arrive. 10 s. */
  readonly unauthenticatedArrivalMs?: number;
  /** Another server's health, for a port that serves nothing else. */
  readonly health?: HealthControl | undefined;
};

/** A running server. */
export type RpcServer = {
  /** Listens and returns the port; with port 0 the system chooses one. */
  listen(host: string, port: number): Promise<number>;
  /**
   * Stops without losing a call: health turns NOT_SERVING, clients get GOAWAY, calls in progress may finish
   * within `limitMs` (10 s), then the others end with UNAVAILABLE. Returns whether any call was cut. Safe to
   * call more than once.
   */
  drain(limitMs?: number): Promise<{ readonly forced: boolean }>;
  readonly health: HealthControl;
  /** Calls whose handler has not settled, without health and reflection. */
  readonly inFlight: number;
};

/** Serves the given routes, with health and reflection in addition. */
export function createRpcServer(options: RpcServerOptions): RpcServer {
  const own = collectRoutes(options.routes);
  const services = [...new Set([...own.values()].map(({ spec }) => spec.method.parent))];
  const health = options.health ?? createHealth(services.map(({ typeName }) => typeName));
  const routes = new Map([...own, ...standardRoutes(services, health)]);
  const host = createHost(options);
  const unauthenticated = createUnauthenticatedGuard({
    // A server without callers trusts everyone, unless it serves only what is open.
    isKnown: ({ authorization }, session) =>
      options.auth?.isKnown(authorization, () => peerName(session.socket)) ?? own.size > 0,
    onLimit: options.onUnauthenticatedLimit,
    arrivalMs: options.unauthenticatedArrivalMs,
  });
  const direct: ServerInterceptor = ({ path }, call) => {
    const session = sessionOf(call);
    const isUnauthenticated = unauthenticated.isUnauthenticated(session);
    if (isUnauthenticated) limitReceived(call, UNAUTHENTICATED_MESSAGE_BYTES);
    const route = routes.get(path);
    // Only registered paths get here; see `register` below.
    if (route === undefined) throw new Error(`no route for ${path}`);
    const mayReceive = isUnauthenticated ? () => unauthenticated.takeMessage(session) : undefined;
    return new DirectCall(call, new ServerCall(call, route, host, mayReceive));
  };
  const server = new Server({ ...serverOptions(options), interceptors: [direct] });
  allowStreamResets(server);
  for (const { path, spec } of routes.values()) {
    server.register(path, NEVER_CALLED, AS_IS, AS_IS, HANDLER_TYPES[spec.kind]);
  }
  let draining: Promise<{ forced: boolean }> | undefined;

  return {
    listen(hostName, port) {
      return new Promise((resolve, reject) => {
        const address = hostName.includes(":") ? `[${hostName}]:${port}` : `${hostName}:${port}`;
        server.bindAsync(address, serverCredentials(options.tls), (error, bound) => {
          if (error !== null) return reject(error);
          for (const http2Server of listenersOf(server)) {
            http2Server.prependListener("stream", (_, headers) => shortenDeadline(headers));
            http2Server.prependListener("session", answerPingsWhenClosing);
            unauthenticated.watch(http2Server);
          }
          resolve(bound);
        });
      });
    },
    drain(limitMs = 10_000) {
      health.stop();
      draining ??= shutDown(server, host, unauthenticated, limitMs);
      return draining;
    },
    health,
    get inFlight() {
      return host.inFlight;
    },
  };
}

function shutDown(
  server: Server,
  host: CallHost,
  unauthenticated: UnauthenticatedGuard,
  limitMs: number,
): Promise<{ forced: boolean }> {
  return new Promise((resolve) => {
    let forced = false;
    const timer = setTimeout(() => {
      forced = true;
      for (const call of host.calls) call.abort();
      // Wait for one event-loop tick, so that the statuses are sent before the connections break.
      setImmediate(() => {
        server.forceShutdown();
        unauthenticated.end("all");
      });
    }, limitMs);
    void sendGoaway(server).then(() => {
      server.tryShutdown(() => {
        clearTimeout(timer);
        resolve({ forced });
      });
      unauthenticated.end("idle");
    });
  });
}

function standardRoutes(services: readonly DescService[], health: HealthControl) {
  const healthRoutes = collectRoutes(health.routes);
  const healthService = [...healthRoutes.values()].map(({ spec }) => spec.method.parent)[0];
  const described = healthService === undefined ? services : [...services, healthService];
  return new Map<string, Route>([...healthRoutes, ...collectRoutes(createReflection(described))]);
}

function createHost(options: RpcServerOptions): CallHost {
  const { auth } = options;
  return {
    authorize: (route, metadata, call) =>
      auth?.authorize(route.name, authorizationOf(metadata), () => certificateName(call)),
    maxInFlight: options.maxInFlight ?? 1024,
    maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES,
    unaryTimeoutMs: options.unaryTimeoutMs ?? 60_000,
    inFlight: 0,
    calls: new Set(),
    onCall: options.onCall,
    log: options.log,
  };
}

/**
 * New calls use another connection at once. A call in progress may be `smsctl check`, which reads as long as there
 * is data; a shorter limit would cut it.
 */
const GRACE_MS = 3_600_000;

function serverOptions(options: RpcServerOptions) {
  const { maxConnectionAgeMs = 300_000 } = options;
  return {
    "grpc.max_receive_message_length": options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES,
    // This server checks the size of responses itself, with an error of its own.
    "grpc.max_send_message_length": -1,
    ...(maxConnectionAgeMs > 0 ? { "grpc.max_connection_age_ms": maxConnectionAgeMs } : {}),
    "grpc.max_connection_age_grace_ms": options.maxConnectionAgeGraceMs ?? GRACE_MS,
    "grpc.keepalive_time_ms": KEEP_ALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEP_ALIVE_TIMEOUT_MS,
    // A single connection may queue at most twice the calls that the server runs at once.
    "grpc.max_concurrent_streams": 2 * (options.maxInFlight ?? 1024),
    "grpc.enable_channelz": 0,
  };
}

function serverCredentials(tls: RpcServerTls | RpcTlsFiles | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  if ("certFile" in tls) return serverCredentialsFrom(tls);
  const pair = { private_key: tls.key, cert_chain: tls.cert };
  return ServerCredentials.createSsl(tls.ca ?? null, [pair], tls.ca !== undefined);
}

function authorizationOf(metadata: Metadata): string | undefined {
  const value = metadata.get("authorization")[0];
  return typeof value === "string" ? value : undefined;
}

function certificateName(call: ServerInterceptingCallInterface): string | undefined {
  const name: unknown = call.getAuthContext().sslPeerCertificate?.subject.CN;
  return typeof name === "string" ? name : undefined;
}

function peerName(socket: Http2Session["socket"]): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  return typeof name === "string" ? name : undefined;
}

/**
 * Starts a call with our `ServerCall` as its listener. The listener of grpc-js's own handler would create stream
 * objects that we do not need. In the public API of grpc-js only an interceptor can replace it.
 */
class DirectCall extends ServerInterceptingCall {
  readonly #call: ServerInterceptingCallInterface;
  readonly #driver: ServerCall;

  constructor(call: ServerInterceptingCallInterface, driver: ServerCall) {
    super(call);
    this.#call = call;
    this.#driver = driver;
  }

  override start(): void {
    this.#call.start(this.#driver);
  }
}

const HANDLER_TYPES = {
  unary: "unary",
  server_streaming: "serverStream",
  client_streaming: "clientStream",
  bidi_streaming: "bidi",
} as const;

const AS_IS = (bytes: Buffer): Buffer => bytes;
const NEVER_CALLED = (): void => {};
