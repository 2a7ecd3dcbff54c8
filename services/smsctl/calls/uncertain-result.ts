import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { UNCERTAIN } from "./retryable-errors.ts";

/** An endpoint that was made though its answer was lost counts among the five, and its secret is nobody's. */
export function uncertainResult(thrown: unknown): never {
  const error = toAppError(thrown);
  if (!UNCERTAIN.has(error.code)) throw thrown;
  const hint = "The endpoint may have been made all the same: look with webhook list --tenant T.";
  throw new AppError(error.code, `${error.message} ${hint}`, { cause: thrown });
}
