/**
 * Errors for callers: one class, one table. Domain code throws `AppError`; the RPC server turns it into a gRPC
 * status, and one Koa middleware turns that into problem+json (RFC 9457). Any other exception is a bug and
 * becomes `internal_error`.
 */

/** How many `cause` links `isUnavailable` follows: a cycle of causes ends there. */
const CAUSES_MAX = 8;

/** gRPC status numbers used by the table (grpc/grpc, doc/statuscodes.md). */
export const GRPC = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The meaning of one error code in each protocol. */
export type ErrorKind = {
  /** HTTP status of the problem. */
  readonly http: number;
  /** gRPC status number. */
  readonly grpc: number;
  /** The problem's title: the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean;
  /** Suggested wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number;
};

/** The registry of error codes (`docs/contract.md#errors`). */
export const ERRORS = {
  bad_request: kind(400, GRPC.invalidArgument, "Bad request"),
  unauthenticated: kind(401, GRPC.unauthenticated, "Authentication failed"),
  insufficient_balance: kind(402, GRPC.failedPrecondition, "Insufficient balance"),
  ip_not_allowed: kind(403, GRPC.permissionDenied, "IP address not allowed"),
  origin_not_allowed: kind(403, GRPC.permissionDenied, "Origin not allowed"),
  insufficient_scope: kind(403, GRPC.permissionDenied, "Insufficient scope"),
  email_not_verified: kind(403, GRPC.permissionDenied, "Email not verified"),
  tenant_suspended: kind(403, GRPC.permissionDenied, "Account suspended"),
  not_found: kind(404, GRPC.notFound, "Not found"),
  method_not_allowed: kind(405, GRPC.unimplemented, "Method not allowed"),
  request_timeout: kind(408, GRPC.deadlineExceeded, "Request timeout", 1000),
  conflict: kind(409, GRPC.aborted, "Request in progress", 1000),
  already_exists: kind(409, GRPC.alreadyExists, "Already exists"),
  idempotency_key_reused: kind(409, GRPC.failedPrecondition, "Idempotency key reused"),
  invalid_state_transition: kind(409, GRPC.failedPrecondition, "Invalid state transition"),
  payload_too_large: kind(413, GRPC.invalidArgument, "Request body too large"),
  unsupported_media_type: kind(415, GRPC.invalidArgument, "Unsupported media type"),
  validation_error: kind(422, GRPC.invalidArgument, "Validation failed"),
  sender_id_not_approved: kind(422, GRPC.failedPrecondition, "Sender ID not approved"),
  rate_limited: kind(429, GRPC.resourceExhausted, "Rate limit exceeded", 1000),
  headers_too_large: kind(431, GRPC.invalidArgument, "Request headers too large"),
  internal_error: kind(500, GRPC.internal, "Internal error", 1000),
  service_unavailable: kind(503, GRPC.unavailable, "Service unavailable", 1000),
} as const satisfies Record<string, ErrorKind>;

/** One of the codes of the registry. */
export type ErrorCode = keyof typeof ERRORS;

/** One invalid field of a request; `field` is a path such as `messages[3].to`. */
export type FieldError = {
  readonly field: string;
  readonly code: string;
  readonly message: string;
};

/** Optional parts of an `AppError`. */
export type AppErrorOptions = {
  /** The original error: logged, never shown. */
  readonly cause?: unknown;
  /** One entry per invalid field. */
  readonly fields?: readonly FieldError[];
  /** Further facts for the caller, for example `required_amount`. */
  readonly extra?: Readonly<Record<string, string>>;
  /** Overrides the table's suggested wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number;
};

/** The one error class: a code of the registry and a text that is safe for the caller. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  readonly extra: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.fields = options.fields ?? [];
    this.extra = options.extra ?? {};
    const known: ErrorKind = ERRORS[code];
    this.retryAfterMs = options.retryAfterMs ?? known.retryAfterMs;
  }
}

/** True for a code of the registry. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

/** True when the same request may succeed later. */
export function isRetryable(code: ErrorCode): boolean {
  return ERRORS[code].retryable;
}

/**
 * True when work failed because a server or the network is down: the same work may succeed later.
 * The code of an `AppError` decides; of any other error, its `cause`.
 */
export function isUnavailable(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    if (current instanceof AppError) return current.code === "service_unavailable";
    current = current.cause;
  }
  return false;
}

/**
 * Returns an `AppError` as it is; wraps any other error as `internal_error`, with the error as `cause`.
 */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError("internal_error", "Something went wrong on our side.", { cause: error });
}

function kind(http: number, grpc: number, title: string, retryAfterMs?: number): ErrorKind {
  if (retryAfterMs === undefined) return { http, grpc, title, retryable: false };
  return { http, grpc, title, retryable: true, retryAfterMs };
}
