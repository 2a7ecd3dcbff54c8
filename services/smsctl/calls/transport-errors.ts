/** Adds the service, its address and the cause to the errors of calls. */
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { AppError, type ErrorCode } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** The other side of a transport. */
export type ErrorSource = {
  /** For example "wallet at 10.0.0.7:9090". */
  readonly place: string;
  /** The reason why a service cannot be reached, with advice. */
  readonly whyUnreachable: () => string | undefined;
};

/** Wraps a transport. */
export function withErrorSource(transport: Transport, source: ErrorSource): Transport {
  return {
    unary: (...call) => transport.unary(...call).catch((thrown) => rethrow(thrown, source)),
    async stream(...call) {
      const answer = await transport.stream(...call).catch((thrown) => rethrow(thrown, source));
      return { ...answer, message: named(answer.message, source) };
    },
  };
}

async function* named<T>(messages: AsyncIterable<T>, source: ErrorSource): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (thrown) {
    rethrow(thrown, source);
  }
}

/** Codes that refuse the caller itself. `toAppError` does not map them, because customers never get them. */
const REFUSALS = new Map<Code, ErrorCode>([
  [Code.Unauthenticated, "unauthenticated"],
  [Code.PermissionDenied, "insufficient_scope"],
]);

/** Keeps a service's own error text; replaces the generic text of transport errors with gRPC's. */
function rethrow(thrown: unknown, { place, whyUnreachable }: ErrorSource): never {
  if (!(thrown instanceof ConnectError) || thrown.code === Code.Canceled) throw thrown;
  const { rawMessage } = thrown;
  const error = toAppError(thrown);
  if (error.message === rawMessage) throw thrown;
  const refusal = REFUSALS.get(thrown.code);
  if (refusal !== undefined) {
    throw new AppError(refusal, `Refused by ${place}: ${rawMessage}`, { cause: thrown });
  }
  const hint = thrown.code === Code.Unavailable ? whyUnreachable() : undefined;
  const text = hint ?? `Cannot reach ${place}: ${causeIn(rawMessage)}`;
  throw new AppError(error.code, text, { cause: thrown });
}

/** Extracts the network error from grpc-js's text about its internals. */
function causeIn(text: string): string {
  return /.*Last error: (?:Error: )?(.+?)\.?(?: Resolution note:.*)?$/s.exec(text)?.[1] ?? text;
}
