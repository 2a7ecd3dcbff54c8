/** Failures of calls say which service they were for, where it was looked for, and what happened. */
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { AppError, type ErrorCode } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** A transport to `place`, such as "the wallet service at 10.0.0.7:9090". */
export function nameFailures(transport: Transport, place: string): Transport {
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

/** Refusals of the caller itself, which are none of the errors that a service has for customers. */
const REFUSALS = new Map<Code, ErrorCode>([
  [Code.Unauthenticated, "unauthenticated"],
  [Code.PermissionDenied, "insufficient_scope"],
]);

/** What the service itself said stays as it is; for people, what gRPC says of the way to it is better than nothing. */
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

/** grpc-js wraps what the network said in words about its own parts. */
function causeIn(text: string): string {
  return /.*Last error: (?:Error: )?(.+?)\.?(?: Resolution note:.*)?$/s.exec(text)?.[1] ?? text;
}
