import type { ErrorCode } from "../core/errors.ts";

/** The exit codes of a command line, by kind of failure. */
export const EXIT = {
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unavailable: 5,
  /** As shells count it: 128 plus the number of SIGINT. */
  interrupted: 130,
} as const;

/** The exit code of each error code. */
export const EXIT_CODES: Readonly<Record<ErrorCode, number>> = {
  bad_request: EXIT.usage,
  validation_error: EXIT.usage,
  payload_too_large: EXIT.usage,
  headers_too_large: EXIT.usage,
  unsupported_media_type: EXIT.usage,
  not_found: EXIT.notFound,
  unauthenticated: EXIT.refused,
  insufficient_balance: EXIT.refused,
  ip_not_allowed: EXIT.refused,
  origin_not_allowed: EXIT.refused,
  insufficient_scope: EXIT.refused,
  email_not_verified: EXIT.refused,
  tenant_suspended: EXIT.refused,
  conflict: EXIT.refused,
  already_exists: EXIT.refused,
  idempotency_key_reused: EXIT.refused,
  invalid_state_transition: EXIT.refused,
  sender_id_not_approved: EXIT.refused,
  request_timeout: EXIT.unavailable,
  rate_limited: EXIT.unavailable,
  service_unavailable: EXIT.unavailable,
  // The service does not know the method: smsctl is newer than it.
  method_not_allowed: EXIT.failed,
  internal_error: EXIT.failed,
};
