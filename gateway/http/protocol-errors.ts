import { AppError, ERRORS } from "../../services/shared/core/errors.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { PROBLEM_TYPE, toProblem } from "./problem.ts";

/**
 * The raw HTTP/1.1 response to input that Node's parser refused; `parserCode` is llhttp's error code. The input
 * never became a request, so no middleware can answer it.
 */
export function protocolErrorResponse(parserCode: string | undefined, docsUrl: string): string {
  const error = toError(parserCode);
  const requestId = newId("request");
  const body = JSON.stringify(toProblem(error, requestId, docsUrl));
  const { http, title } = ERRORS[error.code];
  return [
    `HTTP/1.1 ${http} ${title}`,
    `Date: ${new Date().toUTCString()}`,
    `X-Request-Id: ${requestId}`,
    "Cache-Control: no-store",
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

function toError(parserCode: string | undefined): AppError {
  switch (parserCode) {
    case "HPE_HEADER_OVERFLOW":
      return new AppError(
        "headers_too_large",
        "The address and headers are longer than 16 KiB together.",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new AppError("payload_too_large", "The body's chunk extensions are too long.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new AppError("request_timeout", "The request did not arrive in time.");
    default:
      return new AppError("bad_request", "The request is not valid HTTP/1.1.");
  }
}
