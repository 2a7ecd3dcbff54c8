/** Failures of calls as the errors that every command line shows. */
import {
  AppError,
  ERRORS,
  type ErrorCode,
  isErrorCode,
} from "../../../services/shared/core/errors.ts";
import { isSmsError, type SmsError } from "../../typescript/src/client.ts";

/** The error that the user sees. Local failures, such as a missing file, keep their own text. */
export function toCliError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  if (isSmsError(thrown)) return fromApi(thrown);
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError("internal_error", text, { cause: thrown });
}

function fromApi(error: SmsError): AppError {
  if (!("status" in error)) {
    const reason = reasonOf(error);
    const text =
      error.code === "timeout"
        ? "No response came in time; the request may have had its effect."
        : `The API cannot be reached${reason === "" ? "" : ` (${reason})`}.`;
    return new AppError("service_unavailable", text, { cause: error });
  }
  if (error.code === "unexpected_response") {
    const text = `The response with the status ${error.status} is not the API's: is the base URL right?`;
    const code = error.status >= 502 ? "service_unavailable" : "internal_error";
    return new AppError(code, text, { cause: error });
  }
  const { problem, status, fields, requestId } = error;
  const code = isErrorCode(problem.code) ? problem.code : likeStatus(status);
  const amounts =
    error.code === "insufficient_balance"
      ? ` Needed: ${error.requiredAmount} ${error.currency}; available: ${error.availableAmount}.`
      : "";
  // A fault of the service is looked up by the request's id.
  const request = status >= 500 ? ` Request ${requestId}.` : "";
  const faults = fields.map((fault) => ({ ...fault, message: withCommands(fault.message) }));
  return new AppError(code, `${withCommands(problem.detail)}${amounts}${request}`, {
    ...{ fields: faults, cause: error },
    extra: { request_id: requestId },
  });
}

/** A text of the API with the command in place of the request that it names. */
function withCommands(text: string): string {
  return text.replace("GET /v1/sender-ids", "sms sender-ids");
}

/** Why the connection failed, such as ECONNREFUSED: fetch hides it in a cause, and the client that error in its own. */
export function reasonOf(error: Error): string {
  const outer = error.cause as Error | undefined;
  const inner = (outer?.cause ?? outer) as (Error & { readonly code?: string }) | undefined;
  return inner?.code ?? inner?.message ?? "";
}

/** The API gained a code after this version: its status tells the kind. */
function likeStatus(status: number): ErrorCode {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return codes.find((code) => ERRORS[code].http === status) ?? "internal_error";
}
