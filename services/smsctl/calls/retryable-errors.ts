import type { ErrorCode } from "../../shared/core/errors.ts";

/** Failures that a retry can cure: a service restarts or sheds load. */
export const TRANSIENT_ERRORS: ReadonlySet<string> = new Set<ErrorCode>([
  "service_unavailable",
  "request_timeout",
]);

/** Failures after which the request may or may not have taken effect. */
export const UNCERTAIN_ERRORS: ReadonlySet<string> = new Set<string>([
  ...TRANSIENT_ERRORS,
  "internal_error" satisfies ErrorCode,
]);
