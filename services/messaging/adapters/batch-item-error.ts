import type { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** The error of one item of a batch. Logs an internal error, as the server does for a single call. */
export function toBatchItemError(
  thrown: unknown,
  call: { readonly method: string; readonly requestId: string },
  log: Logger,
): AppError {
  const error = toAppError(thrown);
  if (error.code === "internal_error") log.error({ ...call, error: thrown }, "failed");
  return error;
}
