/**
 * The composition root of a process: reads settings, starts each service, then listens. It closes in the
 * opposite order: servers stop accepting work, services finish theirs, then connections close.
 */
import type { DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createClient,
  type Transport,
} from "@connectrpc/connect";
import type { Logger } from "pino";
import { methodsOf } from "./caller-methods.ts";
import { systemClock } from "./core/clock.ts";
import { ADDRESS_SETTINGS, PROCESS_SETTINGS } from "./io/base-config.ts";
import { type Config, ConfigError, faultsOf, readConfig } from "./io/config.ts";
import { createLifecycle, installSignalHandlers, type Lifecycle } from "./io/lifecycle.ts";
import { createLogger } from "./io/log.ts";
import { createMetrics } from "./io/metrics.ts";
import { natsOptions } from "./io/nats-options.ts";
import { type OpsHandler, startOpsServer } from "./io/ops-server.ts";
import { releaseIdleMemory } from "./io/release-idle-memory.ts";
import { rpcMetrics, unauthenticatedMetrics } from "./io/rpc-metrics.ts";
import type { ServiceContext, ServiceModule } from "./io/service-context.ts";
import { rpcTlsFilesOf, TLS_SERVERS, tlsFilesOf } from "./io/tls-files.ts";
import { traceFields, useTracer } from "./io/tracing.ts";
import { readTracingConfig, type TracingConfig } from "./io/tracing-settings.ts";
import { createRpcAuth, type RpcCaller, readRpcCallers } from "./rpc/auth.ts";
import { guardPage } from "./rpc/authenticated-page.ts";
import { activeCall } from "./rpc/call-context.ts";
import { createJsonOps } from "./rpc/connect-json.ts";
import { readListedCallers } from "./rpc/listed-callers.ts";
import { createLocalTransport } from "./rpc/local-transport.ts";
import { restrictMethods } from "./rpc/restrict-methods.ts";
import { createRpcServer } from "./rpc/server.ts";
import { createGrpcJsTransport } from "./rpc/transport.ts";
import { addressesNeeded, SERVICE_ADDRESSES } from "./service-addresses.ts";

/** Services with RPCs, and the carrier, whose page on the ops port needs a token. */
const SERVING = new Set([...Object.values(SERVICE_ADDRESSES).map(({ name }) => name), "carrier"]);

/** The time limit of calls in progress once the process drains. */
const GRPC_DRAIN_MS = 10_000;

const SETTINGS = { ...PROCESS_SETTINGS, ...ADDRESS_SETTINGS };

type NamedService = ServiceModule & { readonly name: string };

/** Runs services until the process is ended; returns an exit code when it cannot start. */
export async function runProcess(
  services: readonly NamedService[],
  env: NodeJS.ProcessEnv,
): Promise<number | undefined> {
  const name = services.map((service) => service.name).join("+");
  let log = createLogger(name);
  try {
    refuseFaults(services, env);
    const config = readConfig(env, SETTINGS);
    const tracing = readTracingConfig(env);
    log =
      tracing === undefined
        ? createLogger(name, config.LOG_LEVEL)
        : createLogger(name, config.LOG_LEVEL, undefined, () =>
            traceFields(activeCall()?.traceparent),
          );
    const lifecycle = createLifecycle({
      log,
      drainDelayMs: config.DRAIN_DELAY_MS,
      closeTimeoutMs: config.CLOSE_TIMEOUT_MS,
    });
    installSignalHandlers(lifecycle, log);
    if (tracing !== undefined) await startTracing(name, tracing, log, lifecycle);
    await startAll(services, env, config, log, lifecycle);
    lifecycle.markReady();
    releaseIdleMemory(services.length);
    log.info({ startedMs: Math.round(performance.now()) }, "ready");
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`${name}: ${error.message}\n`);
    else log.fatal({ error }, "the process could not start");
    log.flush?.();
    setTimeout(() => process.exit(1), 200);
    return 1;
  }
}

/**
 * Throws all faults of all settings of this process together, so that an operator fixes them at once.
 */
function refuseFaults(services: readonly NamedService[], env: NodeJS.ProcessEnv): void {
  const needed = addressesNeeded(services.map(({ name }) => name));
  const faults = [
    ...faultsOf([
      () => readConfig(env, SETTINGS),
      () => rpcTlsFilesOf(env),
      () => callersIn(env),
      () => natsOptions(env.NATS_URL ?? "", env),
      ...TLS_SERVERS.map((server) => () => tlsFilesOf(env, server)),
      () => readTracingConfig(env),
      ...services.map((service) => () => service.readSettings(env)),
    ]),
    ...[...needed].filter((setting) => !env[setting]).map((setting) => `${setting} is required`),
    ...(needsToken(services, needed, env) ? ["RPC_TOKEN is required"] : []),
  ];
  if (faults.length > 0) throw new ConfigError(faults);
}

/** A process that calls another needs a token, and so does one that serves and has no list of callers. */
function needsToken(
  services: readonly NamedService[],
  needed: ReadonlySet<string>,
  env: NodeJS.ProcessEnv,
): boolean {
  if (env.RPC_TOKEN) return false;
  const serves = services.some(({ name }) => SERVING.has(name));
  return needed.size > 0 || (serves && !env.RPC_TOKENS && !env.RPC_CALLERS);
}

/** The callers of `RPC_CALLERS` or `RPC_TOKENS`; without either, this process's own token. */
function callersIn(env: NodeJS.ProcessEnv): RpcCaller[] {
  if (!env.RPC_CALLERS) return readRpcCallers(env.RPC_TOKENS, env.RPC_TOKEN);
  if (!env.RPC_TOKENS) return readListedCallers(env);
  throw new ConfigError(["RPC_CALLERS and RPC_TOKENS exclude each other"]);
}

/** Opens first and closes last, so that spans of the shutdown are exported too. */
async function startTracing(
  service: string,
  config: TracingConfig,
  log: Logger,
  lifecycle: Lifecycle,
): Promise<void> {
  const { openTracer } = await import("./io/tracer.ts");
  const tracer = openTracer({ service, config, log });
  useTracer(tracer);
  lifecycle.onClose("traces", () => tracer.close());
}

async function startAll(
  services: readonly NamedService[],
  env: NodeJS.ProcessEnv,
  config: Config<typeof SETTINGS>,
  log: Logger,
  lifecycle: Lifecycle,
): Promise<void> {
  const metrics = createMetrics();
  const routes: ((router: ConnectRouter) => void)[] = [];
  const opsHandlers: OpsHandler[] = [];
  const auth = createRpcAuth(callersIn(env));
  let isComplete = false;
  const serveAll = (router: ConnectRouter) => {
    if (!isComplete) throw new ConnectError("the process is starting", Code.Unavailable);
    for (const route of routes) route(router);
  };
  const onCall = rpcMetrics(metrics);
  const transports = createTransports(new Set(services.map(({ name }) => name)), config, {
    serveAll,
    lifecycle,
    log,
  });

  const context: Omit<ServiceContext, "client"> = {
    env,
    log,
    clock: systemClock,
    metrics,
    lifecycle,
    serve: (route) => void routes.push(route),
    onOps: (page) => void opsHandlers.push(guardPage(page, auth)),
  };
  // Opens first and closes last: /livez and /readyz answer from start to end.
  const ops = await startOpsServer({
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    lifecycle,
    metrics,
    handlers: opsHandlers,
  });
  lifecycle.onClose("ops server", () => ops.close());
  for (const { name, start } of services)
    await start({ ...context, client: clientsOf(name, transports) });
  // An earlier call within the process fails with "unavailable", and its caller retries.
  isComplete = true;

  if (routes.length === 0) return;
  const onUnauthenticatedLimit = unauthenticatedMetrics(metrics);
  const server = createRpcServer({
    routes: serveAll,
    auth,
    log,
    onCall,
    onUnauthenticatedLimit,
    maxInFlight: config.RPC_IN_FLIGHT_MAX,
    maxConnectionAgeMs: config.RPC_CONNECTION_AGE_MS,
    tls: rpcTlsFilesOf(config),
  });
  if (config.GRPC_HEALTH_PORT !== 0) {
    const probed = createRpcServer({
      routes: () => {},
      health: server.health,
      log,
      onUnauthenticatedLimit,
    });
    await probed.listen(config.GRPC_HOST, config.GRPC_HEALTH_PORT);
    lifecycle.onClose("health port", async () => void (await probed.drain(0)));
  }
  await server.listen(config.GRPC_HOST, config.GRPC_PORT);
  // Clients that balance by the health service get the drain delay too, as `/readyz` gives it to others.
  lifecycle.onDrain(() => server.health.stop());
  lifecycle.onClose("gRPC server", async () => void (await server.drain(GRPC_DRAIN_MS)));
  opsHandlers.push(createJsonOps({ routes: serveAll, auth, log, onCall }));
}

/** The clients of one service; each refuses methods that its caller's list lacks, also within the process. */
function clientsOf(
  caller: string,
  transports: (service: DescService) => Transport,
): ServiceContext["client"] {
  return (service) => {
    const methods = methodsOf([caller], service.typeName);
    return createClient(service, restrictMethods(transports(service), service, caller, methods));
  };
}

/** Selects each client's transport: in memory for services of this process, else a gRPC channel. */
function createTransports(
  localNames: ReadonlySet<string>,
  config: Config<typeof SETTINGS>,
  parts: { serveAll: (router: ConnectRouter) => void; lifecycle: Lifecycle; log: Logger },
): (service: DescService) => Transport {
  const remote = new Map<string, Transport>();
  // Routes are complete only when every service has started, so they are collected at first use.
  let collected: Transport | undefined;
  const localTransport = () => {
    collected ??= createLocalTransport({ routes: parts.serveAll, log: parts.log });
    return collected;
  };
  const local: Transport = {
    unary: (...call) => localTransport().unary(...call),
    stream: (...call) => localTransport().stream(...call),
  };
  return (service) => {
    const place = SERVICE_ADDRESSES[service.typeName];
    if (place === undefined) throw new Error(`no address is known for ${service.typeName}`);
    if (localNames.has(place.name)) return local;
    const known = remote.get(place.name);
    if (known !== undefined) return known;
    const targets = config[place.setting];
    if (targets.length === 0) throw new ConfigError([`${place.setting} is required`]);
    const channel = createGrpcJsTransport({
      target: targets.length === 1 ? (targets[0] as string) : targets,
      token: config.RPC_TOKEN,
      tls: rpcTlsFilesOf(config),
    });
    parts.lifecycle.onClose(`channel to ${place.name}`, () => channel.close());
    remote.set(place.name, channel);
    return channel;
  };
}
