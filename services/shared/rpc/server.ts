/** Serves Connect routes over gRPC on grpc-js: the server of every service process. */
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
import { listenersOf, sendGoaway } from "../vendor/grpc-server-sessions.ts";
import type { RpcAuth } from "./auth.ts";
import type { CallReport, RpcLog } from "./call-report.ts";
import { shortenDeadline } from "./clamp-deadline.ts";
import { createHealth, type HealthControl } from "./health.ts";
import { DEFAULT_MESSAGE_BYTES, KEEP_ALIVE_MS, KEEP_ALIVE_TIMEOUT_MS } from "./limits.ts";
import { createReflection } from "./reflection.ts";
import { collectRoutes, type Route, type Routes } from "./routes.ts";
import { type CallHost, ServerCall } from "./server-call.ts";
import { type RpcTlsFiles, serverCredentialsFrom } from "./tls-files.ts";

/** PEM files' contents; with `ca`, clients must show a certificate signed by it (mutual TLS). */
export type RpcServerTls = { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer };

/** How a server runs; every limit has a default. */
export type RpcServerOptions = {
  readonly routes: Routes;
  /** Without it every caller is accepted. Health and reflection are always open. */
  readonly auth?: RpcAuth | undefined;
  readonly tls?: RpcServerTls | RpcTlsFiles | undefined;
  /** Largest message, in and out. 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Calls worked on at once; above it calls are refused with UNAVAILABLE and RetryInfo. 1,024. */
  readonly maxInFlight?: number;
  /** Limit for calls with one answer whose caller set no deadline. 60 s. */
  readonly unaryTimeoutMs?: number;
  /**
   * Connections are asked to leave at about this age (grpc-js adds ±10 %), so that load spreads to
   * new replicas. 0 for never; 5 min.
   */
  readonly maxConnectionAgeMs?: number;
  /** Time that calls on an old connection have left. 1 h. */
  readonly maxConnectionAgeGraceMs?: number;
  readonly onCall?: ((report: CallReport) => void) | undefined;
  readonly log?: RpcLog | undefined;
  /** Another server's health, for a port that answers nothing else. */
  readonly health?: HealthControl | undefined;
};

/** A running server. */
export type RpcServer = {
  /** Listens and answers the port, which the system chooses when `port` is 0. */
  listen(host: string, port: number): Promise<number>;
  /**
   * Stops without losing a call: health turns NOT_SERVING, callers are told to go elsewhere
   * (GOAWAY), calls under way may finish within `limitMs` (10 s), then the rest ends with
   * UNAVAILABLE. Answers whether anything had to be ended. Safe to call more than once.
   */
  drain(limitMs?: number): Promise<{ readonly forced: boolean }>;
  readonly health: HealthControl;
  /** Calls whose handler has not settled, health and reflection not counted. */
  readonly inFlight: number;
};

/** Makes a server for the given routes, with health and reflection beside them. */
export function createRpcServer(options: RpcServerOptions): RpcServer {
  const own = collectRoutes(options.routes);
  const services = [...new Set([...own.values()].map(({ spec }) => spec.method.parent))];
  const health = options.health ?? createHealth(services.map(({ typeName }) => typeName));
  const routes = new Map([...own, ...standardRoutes(services, health)]);
  const host = createHost(options);
  const direct: ServerInterceptor = ({ path }, call) => {
    const route = routes.get(path);
    // Only registered paths get this far; see `register` below.
    if (route === undefined) throw new Error(`no route for ${path}`);
    return new DirectCall(call, new ServerCall(call, route, host));
  };
  const server = new Server({ ...serverOptions(options), interceptors: [direct] });
  allowCancellations(server);
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
          }
          resolve(bound);
        });
      });
    },
    drain(limitMs = 10_000) {
      health.stop();
      draining ??= shutDown(server, host, limitMs);
      return draining;
    },
    health,
    get inFlight() {
      return host.inFlight;
    },
  };
}

function shutDown(server: Server, host: CallHost, limitMs: number): Promise<{ forced: boolean }> {
  return new Promise((resolve) => {
    let forced = false;
    const timer = setTimeout(() => {
      forced = true;
      for (const call of host.calls) call.abort();
      // One turn of the event loop lets those statuses leave before the connections break.
      setImmediate(() => server.forceShutdown());
    }, limitMs);
    void sendGoaway(server).then(() =>
      server.tryShutdown(() => {
        clearTimeout(timer);
        resolve({ forced });
      }),
    );
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
 * New calls leave an old connection at once. Those on it may still be `smsctl check`, which reads for as long as
 * there is to read; a shorter time would end it in the middle.
 */
const GRACE_MS = 3_600_000;

function serverOptions(options: RpcServerOptions) {
  const { maxConnectionAgeMs = 300_000 } = options;
  return {
    "grpc.max_receive_message_length": options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES,
    // The size of answers is checked before they are handed over, with an error of our own.
    "grpc.max_send_message_length": -1,
    ...(maxConnectionAgeMs > 0 ? { "grpc.max_connection_age_ms": maxConnectionAgeMs } : {}),
    "grpc.max_connection_age_grace_ms": options.maxConnectionAgeGraceMs ?? GRACE_MS,
    "grpc.keepalive_time_ms": KEEP_ALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEP_ALIVE_TIMEOUT_MS,
    // A single connection may not queue more than twice what the server would work on.
    "grpc.max_concurrent_streams": 2 * (options.maxInFlight ?? 1024),
    "grpc.enable_channelz": 0,
  };
}

/**
 * HTTP/2 servers close a connection on which many streams are reset (CVE-2023-44487): Node allows
 * 1,000 and then 33 a second. A cancelled or late call is such a reset, and a thousand of those come
 * together whenever something slows down; losing the connection then, with every other call on it,
 * would make it worse. Callers are our own services and work in hand is bounded, so we allow more.
 * grpc-js has no setting for these two options of `http2.createServer`, hence the way in here.
 */
function allowCancellations(server: Server): void {
  const http2Options: unknown = Reflect.get(server, "commonServerOptions");
  if (typeof http2Options !== "object" || http2Options === null) {
    throw new Error("this version of grpc-js keeps its HTTP/2 options elsewhere");
  }
  Object.assign(http2Options, { streamResetBurst: 20_000, streamResetRate: 5_000 });
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

/**
 * Hands a call to its driver and leaves out the listener of grpc-js's own handler, whose stream
 * objects are not needed. An interceptor is the public place where grpc-js allows this.
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
