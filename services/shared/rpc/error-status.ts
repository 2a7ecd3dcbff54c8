/**
 * The mapping between our errors and gRPC statuses, for the server, the transports and the JSON form:
 * `AppError` ⇄ status with `google.rpc.ErrorInfo` (reason = our code, domain `sms`), `BadRequest` (invalid
 * fields) and `RetryInfo`. Any other error becomes `internal_error`.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../proto/gen/google/rpc/error_details_pb.js";
import { AppError, asAppError, ERRORS, type FieldError, isErrorCode } from "../core/errors.ts";

/** `google.rpc.ErrorInfo.domain` of all our errors. */
const ERROR_DOMAIN = "sms";

type Detail = NonNullable<ConstructorParameters<typeof ConnectError>[3]>[number];

/** Errors received from another service, as opposed to errors that a handler throws on purpose. */
const received = new WeakSet<Error>();

/** Marks an error as received by a transport, and returns it. */
export function markReceived(error: ConnectError): ConnectError {
  received.add(error);
  return error;
}

/** The error for the caller, and whether it is a bug that belongs in the log. */
export type ShownError = { readonly error: ConnectError; readonly isFault: boolean };

/**
 * Converts a handler's exception for its caller. A `ConnectError` of the handler passes unchanged. One that
 * came from another service is converted by `toAppError` first, so that, for example, a refusal of our token
 * there does not look like the caller's own failure.
 */
export function showError(thrown: unknown): ShownError {
  if (thrown instanceof ConnectError && !received.has(thrown)) {
    return { error: thrown, isFault: FAULTS.has(thrown.code) };
  }
  const error = thrown instanceof ConnectError ? toAppError(thrown) : asAppError(thrown);
  return { error: toConnectError(error), isFault: error.code === "internal_error" };
}

/**
 * A status that no `AppError` has: a protocol error, or a caller without rights. `reason` is one of our codes,
 * or one that customers never see.
 */
export function refusal(code: Code, reason: string, text: string, cause?: unknown): ConnectError {
  const info = { desc: ErrorInfoSchema, value: { reason, domain: ERROR_DOMAIN } };
  return new ConnectError(text, code, undefined, [info], cause);
}

/** The error for a wrong number of request messages (grpc/grpc, doc/statuscodes.md). */
export function wrongCount(text: string): ConnectError {
  return refusal(Code.Unimplemented, "bad_request", text);
}

const FAULTS: ReadonlySet<Code> = new Set([Code.Unknown, Code.Internal, Code.DataLoss]);

/** Converts an `AppError` to a status with details; the original stays as `cause`. */
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
 * Converts a failed call to an `AppError`: code, text, fields and extra when the status carries our
 * `ErrorInfo`; `service_unavailable` when the service was unreachable, too slow, or ended before its response;
 * otherwise `internal_error`, with the original as `cause`.
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
  if (OUTAGES.includes(error.code) || isCut(error)) {
    const text = "The service is temporarily unavailable; try again shortly.";
    return new AppError("service_unavailable", text, { cause: error });
  }
  return asAppError(error);
}

/**
 * Codes of an outage. `Canceled` comes from a server that ends, or from the end of the call that this one was made
 * for, as after its deadline.
 */
const OUTAGES: readonly Code[] = [Code.DeadlineExceeded, Code.Unavailable, Code.Canceled];

/**
 * The texts of grpc-js for a stream that ended before its status: by its end, a reset, or a socket error.
 */
const CUT = [
  /^Received RST_STREAM with code 0 \(Call ended without/,
  /^Received RST_STREAM with code 2 \(Internal server error/,
  /^Received RST_STREAM with code 2 triggered by .* error: ((read|write) E|Session closed)/,
] as const;

/**
 * True when the connection broke before the status: the other process has ended, as in an outage. Other resets,
 * such as for a protocol error, are faults.
 */
function isCut({ code, rawMessage }: ConnectError): boolean {
  return code === Code.Internal && CUT.some((words) => words.test(rawMessage));
}

/** The wait that a status requests, in milliseconds, or undefined. */
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
 * The limit for invalid fields in one status, in bytes: trailers are small, and the first errors of a thousand
 * are enough for the caller.
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
  // Shorten a first error that is too long by itself, so that the caller gets at least that.
  if (end === 0 && first !== undefined)
    return [{ ...first, message: first.message.slice(0, 1000) }];
  return fields.slice(0, end);
}

function toDuration(ms: number): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round((ms % 1000) * 1e6) };
}
