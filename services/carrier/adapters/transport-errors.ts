/** Which failures of a call to messaging say nothing about what was told to it. */
import { Code, ConnectError } from "@connectrpc/connect";
import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** Messaging is away or has no room. */
const OUTAGES: ReadonlySet<string> = new Set([
  "service_unavailable",
  "request_timeout",
  "rate_limited",
]);

/** Tells whether the same call may go through later, as it is. */
export function isOutage(error: unknown): boolean {
  return isTokenRefused(error) || OUTAGES.has(toAppError(error).code);
}

/** The token may be in the middle of its exchange. */
function isTokenRefused(error: unknown): boolean {
  const status = error instanceof AppError ? error.cause : error;
  return status instanceof ConnectError && status.code === Code.Unauthenticated;
}
