/** Runs a method's implementation behind its interceptors. */
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type Interceptor,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import type { CallScope } from "./call-scope.ts";
import type { Route } from "./routes.ts";

type AnyFn = ReturnType<Interceptor>;
type Init = MessageInitShape<DescMessage>;

/** Runs a unary method and answers its complete response message. */
export async function invokeUnary(
  route: Route,
  scope: CallScope,
  message: Message,
): Promise<Message> {
  const { spec } = route;
  if (spec.kind !== "unary") throw new TypeError(`${route.name} is not unary`);
  const { output } = spec.method;
  if (route.interceptors.length === 0) return create(output, await spec.impl(message, scope));
  const request: UnaryRequest = { ...common(scope), stream: false, method: spec.method, message };
  const next = chain(route.interceptors, async (req) => {
    scope.adopt(req);
    const response: UnaryResponse = {
      ...answered(scope),
      stream: false,
      method: spec.method,
      message: create(output, await spec.impl((req as UnaryRequest).message, scope)),
    };
    return response;
  });
  const response = await next(request);
  takeHeaders(scope, response);
  return response.message as Message;
}

/** Runs a streaming method of any kind; the items are complete response messages. */
export async function* invokeStream(
  route: Route,
  scope: CallScope,
  input: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  if (route.interceptors.length === 0) {
    yield* run(route, scope, input);
    return;
  }
  const { method } = route.spec;
  if (method.methodKind === "unary") throw new TypeError(`${route.name} is unary`);
  const request: StreamRequest = { ...common(scope), stream: true, method, message: input };
  const next = chain(route.interceptors, async (req) => {
    scope.adopt(req);
    const message = run(route, scope, (req as StreamRequest).message);
    const response: StreamResponse = { ...answered(scope), stream: true, method, message };
    return response;
  });
  const response = (await next(request)) as StreamResponse;
  takeHeaders(scope, response);
  yield* response.message;
  takeHeaders(scope, response);
}

async function* run(
  route: Route,
  scope: CallScope,
  input: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  const { spec } = route;
  const { output } = spec.method;
  if (spec.kind === "server_streaming") {
    const message = await single(input);
    yield* complete(output, spec.impl(message, scope));
  } else if (spec.kind === "client_streaming") {
    yield create(output, await spec.impl(input, scope));
  } else if (spec.kind === "bidi_streaming") {
    yield* complete(output, spec.impl(input, scope));
  }
}

async function* complete(desc: DescMessage, items: AsyncIterable<Init>): AsyncGenerator<Message> {
  for await (const item of items) yield create(desc, item);
}

/** The one request message of a method that takes one; else a protocol error. */
async function single(input: AsyncIterable<Message>): Promise<Message> {
  let first: Message | undefined;
  for await (const message of input) {
    if (first !== undefined) {
      throw new ConnectError("more than one request message", Code.Unimplemented);
    }
    first = message;
  }
  if (first === undefined) throw new ConnectError("no request message", Code.Unimplemented);
  return first;
}

function chain(interceptors: readonly Interceptor[], innermost: AnyFn): AnyFn {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), innermost);
}

function common(scope: CallScope) {
  return {
    service: scope.service,
    requestMethod: scope.requestMethod,
    url: scope.url,
    signal: scope.signal,
    header: scope.requestHeader,
    contextValues: scope.values,
  };
}

function answered(scope: CallScope) {
  const { service, responseHeader: header, responseTrailer: trailer } = scope;
  return { service, header, trailer };
}

function takeHeaders(scope: CallScope, response: { header: Headers; trailer: Headers }): void {
  scope.sentHeader = response.header;
  scope.sentTrailer = response.trailer;
}
