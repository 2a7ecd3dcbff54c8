/** Adds the service, its address and the cause to the errors of calls. */
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { AppError, type ErrorCode } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** Wraps a transport; `place` is, for example, "the wallet service at 10.0.0.7:9090". */
export function withErrorSource(transport: Transport, place: string): Transport {
  return {
    unary: (...call) => transport.unary(...call).catch((thrown) => rethrow(thrown, place)),
    async stream(...call) {
      const answer = await transport.stream(...call).catch((thrown) => rethrow(thrown, place));
      return { ...answer, message: named(answer.message, place) };
    },
  };
}

async function* named<T>(messages: AsyncIterable<T>, place: string): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (thrown) {
    rethrow(thrown, place);
  }
}

/** Refusals of the caller: services do not map these codes for customers. */
const REFUSALS = new Map<Code, ErrorCode>([
  [Code.Unauthenticated, "unauthenticated"],
  [Code.PermissionDenied, "insufficient_scope"],
]);

/** Keeps a service's own error text; replaces the generic text of transport errors with gRPC's. */
function rethrow(thrown: unknown, place: string): never {
  if (!(thrown instanceof ConnectError) || thrown.code === Code.Canceled) throw thrown;
  const { rawMessage } = thrown;
  const error = toAppError(thrown);
  if (error.message === rawMessage) throw thrown;
  const refusal = REFUSALS.get(thrown.code);
  const text =
    refusal === undefined
      ? `No answer from ${place}: ${causeIn(rawMessage)}`
      : `Refused by ${place}: ${rawMessage}`;
  throw new AppError(refusal ?? error.code, text, { cause: thrown });
}

/** Extracts the network error from grpc-js's text about its internals. */
function causeIn(text: string): string {
  return /.*Last error: (?:Error: )?(.+?)\.?(?: Resolution note:.*)?$/s.exec(text)?.[1] ?? text;
}
