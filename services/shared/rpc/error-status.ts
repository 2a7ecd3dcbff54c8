/**
 * One mapping between our errors and gRPC statuses, used by the server, the transports and the
 * JSON form: `AppError` ⇄ status with `google.rpc.ErrorInfo` (reason = our code, domain `sms`),
 * `BadRequest` (wrong fields) and `RetryInfo`. Anything unknown is shown as `internal_error`.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../proto/gen/google/rpc/error_details_pb.js";
import { AppError, asAppError, ERRORS, type FieldError, isErrorCode } from "../core/errors.ts";

/** `google.rpc.ErrorInfo.domain` of all our errors. */
export const ERROR_DOMAIN = "sms";

type Detail = NonNullable<ConstructorParameters<typeof ConnectError>[3]>[number];

/** Errors that came from another service, as opposed to those a handler made on purpose. */
const received = new WeakSet<Error>();

/** Marks an error as one that a transport received, and passes it on. */
export function markReceived(error: ConnectError): ConnectError {
  received.add(error);
  return error;
}

/** What the caller may see of an error, and whether it is a fault of ours that belongs in the log. */
export type ShownError = { readonly error: ConnectError; readonly isFault: boolean };

/**
 * Turns whatever a handler threw into what its caller sees. A handler's own `ConnectError` passes
 * as it is. One that came from a further service is first understood by `toAppError`, so that a
 * refusal of our token there, for example, is not shown as the caller's own failure.
 */
export function showError(thrown: unknown): ShownError {
  if (thrown instanceof ConnectError && !received.has(thrown)) {
    return { error: thrown, isFault: FAULTS.has(thrown.code) };
  }
  const error = thrown instanceof ConnectError ? toAppError(thrown) : asAppError(thrown);
  return { error: toConnectError(error), isFault: error.code === "internal_error" };
}

/**
 * A status that is none of an `AppError`'s own: what the protocol itself refuses, or a caller without rights.
 * `reason` is one of our codes, or one that no customer is ever shown.
 */
export function refusal(code: Code, reason: string, text: string, cause?: unknown): ConnectError {
  const info = { desc: ErrorInfoSchema, value: { reason, domain: ERROR_DOMAIN } };
  return new ConnectError(text, code, undefined, [info], cause);
}

/** Another number of request messages than the method takes (grpc/grpc, doc/statuscodes.md). */
export function wrongCount(text: string): ConnectError {
  return refusal(Code.Unimplemented, "bad_request", text);
}

const FAULTS: ReadonlySet<Code> = new Set([Code.Unknown, Code.Internal, Code.DataLoss]);

/** The status of an `AppError`, with its details; the original stays as `cause`. */
export function toConnectError(error: AppError): ConnectError {
  const details: Detail[] = [
    {
      desc: ErrorInfoSchema,
      value: { reason: error.code, domain: ERROR_DOMAIN, metadata: { ...error.extra } },
    },
  ];
  if (error.fields.length > 0) {
    const fieldViolations = thatFit(error.fields).map(({ field, code, message }) => ({
      field,
      reason: code,
      description: message,
    }));
    details.push({ desc: BadRequestSchema, value: { fieldViolations } });
  }
  if (error.retryAfterMs !== undefined) {
    details.push({ desc: RetryInfoSchema, value: { retryDelay: toDuration(error.retryAfterMs) } });
  }
  const code: Code = ERRORS[error.code].grpc;
  return new ConnectError(error.message, code, undefined, details, error);
}

/**
 * Rebuilds the `AppError` of a failed call: code, text, fields and facts when the status carries
 * our `ErrorInfo`; `service_unavailable` when the service could not be reached, did not answer
 * in time, or went away before it did; else `internal_error`, with the original as `cause`.
 */
export function toAppError(error: unknown): AppError {
  if (!(error instanceof ConnectError)) return asAppError(error);
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === ERROR_DOMAIN);
  if (info !== undefined && isErrorCode(info.reason)) {
    const retryAfterMs = retryDelayMs(error);
    return new AppError(info.reason, error.rawMessage, {
      cause: error,
      fields: fieldsOf(error),
      extra: info.metadata,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  if (error.code === Code.DeadlineExceeded || error.code === Code.Unavailable || isCut(error)) {
    const text = "The service is temporarily unavailable; try again shortly.";
    return new AppError("service_unavailable", text, { cause: error });
  }
  return asAppError(error);
}

/** How grpc-js words a stream that ended before its status: by its end, a reset, or the socket's error. */
const CUT = [
  /^Received RST_STREAM with code 0 \(Call ended without/,
  /^Received RST_STREAM with code 2 \(Internal server error/,
  /^Received RST_STREAM with code 2 triggered by .* error: ((read|write) E|Session closed)/,
] as const;

/**
 * Whether the connection broke before the status came: the process at its other end has ended, as in an
 * outage. Other resets, such as for a breach of the protocol, are faults, and stay what they are.
 */
function isCut({ code, rawMessage }: ConnectError): boolean {
  return code === Code.Internal && CUT.some((words) => words.test(rawMessage));
}

/** The wait that a status asks for, in milliseconds, or undefined. */
export function retryDelayMs(error: ConnectError): number | undefined {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  if (delay === undefined) return undefined;
  return Number(delay.seconds) * 1000 + Math.round(delay.nanos / 1e6);
}

function fieldsOf(error: ConnectError): FieldError[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, reason, description }) => ({ field, code: reason, message: description }));
}

/**
 * Room for wrong fields in one status, in bytes: trailers are small, and whoever sends a thousand
 * wrong fields learns enough from the first ones.
 */
const FIELD_BYTES_MAX = 4096;

function thatFit(fields: readonly FieldError[]): readonly FieldError[] {
  let room = FIELD_BYTES_MAX;
  const end = fields.findIndex(({ field, code, message }) => {
    room -= Buffer.byteLength(field + code + message) + 10;
    return room < 0;
  });
  if (end === -1) return fields;
  const [first] = fields;
  // One that is too long by itself is told in short rather than not at all.
  if (end === 0 && first !== undefined)
    return [{ ...first, message: first.message.slice(0, 1000) }];
  return fields.slice(0, end);
}

function toDuration(ms: number): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round((ms % 1000) * 1e6) };
}
