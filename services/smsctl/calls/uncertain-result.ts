import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { UNCERTAIN_ERRORS } from "./retryable-errors.ts";

/**
 * Adds a hint to errors after which the endpoint may exist: it then counts toward the limit of five,
 * and its secret cannot be recovered.
 */
export function uncertainResult(thrown: unknown): never {
  const error = toAppError(thrown);
  if (!UNCERTAIN_ERRORS.has(error.code)) throw thrown;
  const hint = "The endpoint may have been made all the same: look with webhook list --tenant T.";
  throw new AppError(error.code, `${error.message} ${hint}`, { cause: thrown });
}
