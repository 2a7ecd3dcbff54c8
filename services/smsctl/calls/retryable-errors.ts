import type { ErrorCode } from "../../shared/core/errors.ts";

/** Failures that pass by themselves: a service that is exchanged, or has no room. */
export const PASSING: ReadonlySet<string> = new Set<ErrorCode>([
  "service_unavailable",
  "request_timeout",
]);

/** Failures that leave open whether what was asked for was done. */
export const UNCERTAIN: ReadonlySet<string> = new Set<string>([
  ...PASSING,
  "internal_error" satisfies ErrorCode,
]);
