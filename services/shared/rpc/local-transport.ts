/**
 * A Connect `Transport` for services in the same process: it calls the implementation directly. Errors,
 * deadlines and cancellation are as over gRPC; authentication is skipped.
 *
 * Messages are not serialised: the handler gets the caller's message object, and the caller the handler's. So
 * neither side may change a message after passing it, nor one that it received (partial messages are completed
 * into a new object first).
 */
import { create, type Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import { runStreamingCall } from "@connectrpc/connect/protocol";
import {
  CALL_FIELDS,
  CALL_HEADERS,
  type CallContext,
  currentCall,
  inheritedDeadlineMs,
  runInCall,
} from "./call-context.ts";
import { type CallReport, type RpcLog, statusName } from "./call-report.ts";
import { markReceived, showError } from "./error-status.ts";
import { CallScope } from "./handler-context.ts";
import type { HeaderSource } from "./headers.ts";
import { invokeStream, invokeUnary } from "./invoke.ts";
import { DEFAULT_STREAM_TIMEOUT_MS } from "./limits.ts";
import { collectRoutes, type Route, type Routes } from "./routes.ts";

/** The options of a local transport. */
export type LocalTransportOptions = {
  readonly routes: Routes;
  /** The deadline of unary calls that set none. 10 s. */
  readonly defaultTimeoutMs?: number;
  readonly onCall?: ((report: CallReport) => void) | undefined;
  readonly log?: RpcLog | undefined;
};

/** Creates a transport to the given routes within this process. */
export function createLocalTransport(options: LocalTransportOptions): Transport {
  const routes = collectRoutes(options.routes);
  const { defaultTimeoutMs = 10_000 } = options;

  function routeOf(method: { parent: { typeName: string }; name: string }): Route {
    const name = `${method.parent.typeName}/${method.name}`;
    const route = routes.get(`/${name}`);
    if (route !== undefined) return route;
    throw markReceived(new ConnectError(`${name} is not served here`, Code.Unimplemented));
  }

  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const route = routeOf(method);
      const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : defaultTimeoutMs;
      const deadlineAtMs = deadlineFor(limitMs);
      const call = openCall(route, header, deadlineAtMs, contextValues);
      const message = create(method.input, input);
      return callUnary(options, route, call, signal, message) as Promise<
        UnaryResponse<typeof method.input, typeof method.output>
      >;
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const route = routeOf(method);
      const limitMs = timeoutMs ?? DEFAULT_STREAM_TIMEOUT_MS;
      const deadlineAtMs = limitMs > 0 ? deadlineFor(limitMs) : undefined;
      return runStreamingCall({
        ...(signal === undefined ? {} : { signal }),
        ...(deadlineAtMs === undefined ? {} : { timeoutMs: deadlineAtMs - Date.now() }),
        req: {
          stream: true,
          method,
          ...requestOf(route, header, contextValues),
          message: input,
        },
        next: (req) => {
          const call = openCall(route, req.header, deadlineAtMs, req.contextValues);
          return callStream(options, route, call, req.signal, req.message) as Promise<
            StreamResponse<typeof method.input, typeof method.output>
          >;
        },
      });
    },
  };
}

type LocalCall = { readonly scope: CallScope; readonly context: CallContext };

function callUnary(
  options: LocalTransportOptions,
  route: Route,
  { scope, context }: LocalCall,
  signal: AbortSignal | undefined,
  message: Message,
): Promise<UnaryResponse> {
  return new Promise((resolve, reject) => {
    const report = startReport(options, route);
    let isDone = false;
    let timer: NodeJS.Timeout | undefined;
    const finish = (code: number, reason?: unknown): boolean => {
      if (isDone) return false;
      isDone = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      scope.end(reason);
      report(code);
      return true;
    };
    const fail = (error: ConnectError): void => {
      if (finish(error.code, error)) reject(markReceived(error));
    };
    const onAbort = (): void => fail(ConnectError.from(signal?.reason, Code.Canceled));
    const remainingMs = scope.timeoutMs() ?? 0;
    if (signal?.aborted) return onAbort();
    if (remainingMs <= 0) return fail(outOfTime());
    timer = setTimeout(() => fail(outOfTime()), remainingMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    runInCall(context, () => invokeUnary(route, scope, message)).then(
      (answer) => {
        context.isSettled = true;
        if (finish(0)) resolve(responseOf(route, scope, answer));
      },
      (thrown: unknown) => {
        context.isSettled = true;
        fail(shown(options, route, thrown));
      },
    );
  });
}

async function callStream(
  options: LocalTransportOptions,
  route: Route,
  { scope, context }: LocalCall,
  signal: AbortSignal,
  input: AsyncIterable<Message>,
): Promise<StreamResponse> {
  const { method } = route.spec;
  if (method.methodKind === "unary") throw new TypeError(`${route.name} is unary`);
  const report = startReport(options, route);
  const items = invokeStream(route, scope, input);
  const trailer = new Headers();
  const onAbort = (): void => scope.end(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });

  function finish(code: number, reason?: unknown): void {
    signal.removeEventListener("abort", onAbort);
    scope.end(reason);
    report(code);
  }

  async function next(): Promise<IteratorResult<Message>> {
    try {
      const item = await unlessAborted(signal, () => runInCall(context, () => items.next()));
      if (item.done === true) {
        context.isSettled = true;
        for (const [name, value] of scope.sentTrailer ?? []) trailer.append(name, value);
        finish(0);
      }
      return item;
    } catch (thrown) {
      const error = signal.aborted
        ? ConnectError.from(signal.reason, Code.Canceled)
        : shown(options, route, thrown);
      finish(error.code, error);
      // The handler's `finally` runs when it next resumes; the caller does not wait for it.
      items.return(undefined).catch(() => {});
      throw markReceived(error);
    }
  }

  // A handler may set headers until its first item, so fetch that item before reading the headers.
  let first: IteratorResult<Message> | undefined = await next();
  const take = (): Promise<IteratorResult<Message>> => {
    if (first === undefined) return next();
    const item = first;
    first = undefined;
    return Promise.resolve(item);
  };
  return {
    stream: true,
    service: method.parent,
    method,
    header: scope.responseHeader,
    trailer,
    message: { [Symbol.asyncIterator]: () => ({ next: take }) },
  };
}

function openCall(
  route: Route,
  header: HeaderSource,
  deadlineAtMs: number | undefined,
  values: ContextValues | undefined,
): LocalCall {
  const context = contextOf(route, header, deadlineAtMs);
  const readHeader = () => headersOf(header, context);
  return { scope: new CallScope(route, "local", readHeader, deadlineAtMs, values), context };
}

/** The name of callers in this process, which have no token. */
const IN_PROCESS = "in_process";

function contextOf(
  { name: method }: Route,
  header: HeaderSource,
  deadlineAtMs: number | undefined,
): CallContext {
  const inherited = currentCall();
  const own = header === undefined ? undefined : new Headers(header);
  const read = (field: (typeof CALL_FIELDS)[number]) =>
    own?.get(CALL_HEADERS[field]) ?? inherited[field];
  return {
    requestId: read("requestId") ?? inherited.requestId,
    tenantId: read("tenantId"),
    traceparent: read("traceparent"),
    actorName: read("actorName"),
    actorAddress: read("actorAddress"),
    caller: IN_PROCESS,
    method,
    deadlineAtMs,
  };
}

function headersOf(header: HeaderSource, context: CallContext): Headers {
  const headers = new Headers(header);
  for (const field of CALL_FIELDS) {
    const value = context[field];
    if (value !== undefined) headers.set(CALL_HEADERS[field], value);
  }
  return headers;
}

function requestOf(route: Route, header: HeaderSource, values: ContextValues | undefined) {
  return {
    service: route.spec.method.parent,
    requestMethod: "POST",
    url: route.path,
    header: new Headers(header),
    contextValues: values ?? createContextValues(),
  };
}

function responseOf(route: Route, scope: CallScope, message: Message): UnaryResponse {
  const { spec } = route;
  if (spec.kind !== "unary") throw new TypeError(`${route.name} is not unary`);
  return {
    stream: false,
    service: spec.method.parent,
    method: spec.method,
    message,
    get header() {
      return scope.responseHeader;
    },
    get trailer() {
      return scope.responseTrailer;
    },
  };
}

function shown(options: LocalTransportOptions, route: Route, thrown: unknown): ConnectError {
  const { error, isFault } = showError(thrown);
  if (isFault) options.log?.error({ method: route.name, error: thrown }, "rpc handler failed");
  return error;
}

function startReport(options: LocalTransportOptions, route: Route): (code: number) => void {
  const startedMs = performance.now();
  return (code) => {
    const durationMs = performance.now() - startedMs;
    options.onCall?.({ method: route.name, code: statusName(code), durationMs });
  };
}

function deadlineFor(limitMs: number): number {
  return Math.min(Date.now() + limitMs, inheritedDeadlineMs());
}

function outOfTime(): ConnectError {
  return new ConnectError("the operation timed out", Code.DeadlineExceeded);
}

function unlessAborted<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    run()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}
