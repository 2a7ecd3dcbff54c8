import { Code, ConnectError } from "@connectrpc/connect";
import { AppError } from "../../shared/core/errors.ts";
import { ConfigError } from "../../shared/io/config.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";

/** True for the errors of an aborted call and of a write to a closed pipe. */
export function isInterruption(thrown: unknown): boolean {
  if (thrown instanceof ConnectError) return thrown.code === Code.Canceled;
  const { code, name } = thrown as Partial<NodeJS.ErrnoException>;
  return code === "EPIPE" || name === "AbortError";
}

/** Local failures, such as a missing file, keep their own text. */
export function toCliError(thrown: unknown): AppError {
  const error = toAppError(thrown);
  if (error.code !== "internal_error" || error === thrown || !(thrown instanceof Error)) {
    return error;
  }
  if (thrown instanceof ConfigError) {
    return new AppError("validation_error", thrown.faults.join("; "), { cause: thrown });
  }
  return new AppError("internal_error", thrown.message, { cause: thrown });
}
