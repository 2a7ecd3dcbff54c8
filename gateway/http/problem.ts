import type { Context } from "koa";
import { type AppError, ERRORS, type ErrorKind } from "../../services/shared/core/errors.ts";

/** The media type of problems (RFC 9457 section 3). */
export const PROBLEM_TYPE = "application/problem+json";

/** A problem as the client reads it (`docs/contract.md#errors`). */
export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly request_id: string;
  readonly errors: readonly { field: string; code: string; message: string }[];
  readonly required_amount?: string;
  readonly available_amount?: string;
  readonly currency?: string;
};

/** Converts an error to a problem, whose `type` is the documentation page of its code. */
export function toProblem(error: AppError, requestId: string, docsUrl: string): Problem {
  const { http, title }: ErrorKind = ERRORS[error.code];
  const { required_amount, available_amount, currency } = error.extra;
  return {
    type: `${docsUrl}/errors/${error.code}`,
    title,
    status: http,
    code: error.code,
    detail: detailOf(error),
    request_id: requestId,
    errors: error.fields.map(({ field, code, message }) => ({ field, code, message })),
    ...(required_amount === undefined ? {} : { required_amount }),
    ...(available_amount === undefined ? {} : { available_amount }),
    ...(currency === undefined ? {} : { currency }),
  };
}

/** The text of the error. For wrong fields it describes the first one: a person may not read the list. */
function detailOf({ code, message, fields }: AppError): string {
  // A misspelt name causes two faults: `unknown_field`, and the missing field that was meant. The first explains both.
  const first = fields.find((fault) => fault.code === "unknown_field") ?? fields[0];
  if (code !== "validation_error" || first === undefined) return message;
  const named = first.field === "" ? first.message : `${first.field}: ${first.message}`;
  const more = fields.length - 1;
  if (more === 0) return named;
  return `${named} ${more === 1 ? "One more field is" : `${more} more fields are`} wrong.`;
}

/** Headers of an error: `Retry-After` in whole seconds, `WWW-Authenticate` on 401. */
export function problemHeaders(error: AppError): Record<string, string> {
  const { http }: ErrorKind = ERRORS[error.code];
  const headers: Record<string, string> = {};
  if (http === 401) headers["WWW-Authenticate"] = "Bearer";
  if (http === 429 || http === 503) {
    headers["Retry-After"] = String(Math.max(1, Math.ceil((error.retryAfterMs ?? 1000) / 1000)));
  }
  return headers;
}

export function respondWithProblem(
  context: Context,
  problem: Problem,
  headers: Record<string, string>,
) {
  context.status = problem.status;
  context.set(headers);
  context.set("Content-Type", PROBLEM_TYPE);
  context.body = JSON.stringify(problem);
}
