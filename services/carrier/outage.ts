/** Which failures of a call to messaging say nothing about what was told to it. */
import { AppError } from "../shared/core/errors.ts";
import { toAppError } from "../shared/rpc/error-status.ts";

/** Messaging is away or has no room; a token may be in the middle of its exchange. */
const OUTAGES: ReadonlySet<string> = new Set([
  "service_unavailable",
  "request_timeout",
  "rate_limited",
  "unauthenticated",
]);

/** Tells whether the same call may go through later, as it is. */
export function isOutage(error: unknown): boolean {
  return OUTAGES.has((error instanceof AppError ? error : toAppError(error)).code);
}
