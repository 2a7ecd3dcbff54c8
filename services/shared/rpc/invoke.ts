/** Runs a method's implementation. */
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { wrongCount } from "./error-status.ts";
import type { CallScope } from "./handler-context.ts";
import type { Route } from "./routes.ts";

type Init = MessageInitShape<DescMessage>;

/** Runs a unary method and returns its complete response message. */
export async function invokeUnary(
  { spec, name }: Route,
  scope: CallScope,
  message: Message,
): Promise<Message> {
  if (spec.kind !== "unary") throw new TypeError(`${name} is not unary`);
  return create(spec.method.output, await spec.impl(message, scope));
}

/** Runs a streaming method of any kind; items are complete response messages. */
export async function* invokeStream(
  { spec, name }: Route,
  scope: CallScope,
  input: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  const { output } = spec.method;
  if (spec.kind === "server_streaming") {
    yield* complete(output, spec.impl(await single(input), scope));
  } else if (spec.kind === "client_streaming") {
    yield create(output, await spec.impl(input, scope));
  } else if (spec.kind === "bidi_streaming") {
    yield* complete(output, spec.impl(input, scope));
  } else throw new TypeError(`${name} is unary`);
}

async function* complete(desc: DescMessage, items: AsyncIterable<Init>): AsyncGenerator<Message> {
  for await (const item of items) yield create(desc, item);
}

/** The one request message of a method that takes one; otherwise throws a protocol error. */
async function single(input: AsyncIterable<Message>): Promise<Message> {
  let first: Message | undefined;
  for await (const message of input) {
    if (first !== undefined) {
      throw wrongCount("more than one request message");
    }
    first = message;
  }
  if (first === undefined) throw wrongCount("no request message");
  return first;
}
