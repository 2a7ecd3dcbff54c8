import type { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** What one part of a call failed with. A fault of ours is logged, as that of a call of its own is. */
export function toBatchItemError(
  thrown: unknown,
  call: { readonly method: string; readonly requestId: string },
  log: Logger,
): AppError {
  const error = toAppError(thrown);
  if (error.code === "internal_error") log.error({ ...call, error: thrown }, "failed");
  return error;
}
