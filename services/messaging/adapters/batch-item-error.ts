import type { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** The error of one item of a batch. Logs internal errors, as for a call of its own. */
export function toBatchItemError(
  thrown: unknown,
  call: { readonly method: string; readonly requestId: string },
  log: Logger,
): AppError {
  const error = toAppError(thrown);
  if (error.code === "internal_error") log.error({ ...call, error: thrown }, "failed");
  return error;
}
