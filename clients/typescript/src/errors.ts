/**
 * The failure of a call, as a union: `code` tells the members apart. The codes of the API are those of its error pages;
 * `timeout`, `connection_failed`, `unexpected_response` and `unknown_error` are this package's own.
 */

import type { components } from "./generated/openapi.ts";
import type { ErrorCode } from "./generated/operations.ts";

/** A problem of the API (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

/** One wrong field of a request. */
export type FieldError = Problem["errors"][number];

/** How often a call was attempted before it failed. */
type Attempted = { readonly attempts: number };

/** The API answered with a problem. */
export type ApiError<Code extends string> = Error &
  Attempted & {
    readonly code: Code;
    readonly status: number;
    readonly problem: Problem;
    /** Quote it when you ask for support. */
    readonly requestId: string;
    /** The wrong fields; empty when the problem is not about fields. */
    readonly fields: readonly FieldError[];
    /** The wait that the API asked for, in milliseconds. */
    readonly retryAfterMs: number | undefined;
  };

/** 402: the amounts are decimal strings with four fraction digits. */
export type InsufficientBalanceError = ApiError<"insufficient_balance"> & {
  readonly requiredAmount: string;
  readonly availableAmount: string;
  readonly currency: string;
};

/**
 * No response came. The request may have had its effect: a retry with the same idempotency key is safe, another key is
 * not.
 */
export type NoResponseError = Error &
  Attempted & { readonly code: "timeout" | "connection_failed" };

/** A response that is not the API's, such as a page of a proxy. */
export type UnexpectedResponseError = Error &
  Attempted & {
    readonly code: "unexpected_response";
    readonly status: number;
    /** The first 1,000 characters. */
    readonly text: string;
    readonly retryAfterMs: number | undefined;
  };

type PlainCode = Exclude<ErrorCode, "insufficient_balance">;

/**
 * Everything that a call throws, except the reason of your own `AbortSignal`. `unknown_error` is a code that the API
 * gained after this version of the package; `problem.code` has it.
 */
export type SmsError =
  | InsufficientBalanceError
  | { [Code in PlainCode | "unknown_error"]: ApiError<Code> }[PlainCode | "unknown_error"]
  | NoResponseError
  | UnexpectedResponseError;

/** The members of all kinds; `isSmsError` gives the union. */
class SmsFailure extends Error {
  constructor(message: string, members: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SmsError";
    Object.assign(this, members);
  }
}

/** True for a failure of this package; narrows to the union. */
export function isSmsError(error: unknown): error is SmsError {
  return error instanceof SmsFailure;
}

/** No response: `cause` has the reason. */
export function noResponse(code: NoResponseError["code"], attempts: number, cause: unknown) {
  const text =
    code === "timeout"
      ? "no response came in time; the request may have had its effect"
      : "the connection failed; the request may have had its effect";
  return new SmsFailure(text, { code, attempts }, cause) as unknown as SmsError;
}

/** The parts of a response that decide its error. */
export type RefusedResponse = {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
};

/** The error of a response that is no success. */
export function refusedError(
  response: RefusedResponse,
  attempts: number,
  knownCodes: readonly string[],
): SmsError {
  const { status, text, retryAfterMs } = response;
  const problem = readProblem(text);
  if (problem === undefined) {
    const members = { code: "unexpected_response", status, attempts, retryAfterMs };
    const failure = new SmsFailure(`a response with the status ${status} is not the API's`, {
      ...members,
      text: text.slice(0, 1000),
    });
    return failure as unknown as SmsError;
  }
  const isKnown = knownCodes.includes(problem.code);
  const amounts = problem as { required_amount?: string; available_amount?: string } & {
    currency?: string;
  };
  const failure = new SmsFailure(`${problem.title}: ${problem.detail} (${problem.code})`, {
    code: isKnown ? problem.code : "unknown_error",
    ...{ status, problem, attempts, retryAfterMs },
    requestId: problem.request_id,
    fields: problem.errors ?? [],
    ...(problem.code === "insufficient_balance"
      ? {
          requiredAmount: amounts.required_amount,
          availableAmount: amounts.available_amount,
          currency: amounts.currency,
        }
      : {}),
  });
  return failure as unknown as SmsError;
}

function readProblem(text: string): Problem | undefined {
  try {
    const value = JSON.parse(text) as Problem;
    return typeof value?.code === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
