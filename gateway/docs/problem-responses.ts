/**
 * The responses that are problems: each kind is one component, to which operations refer. Generators make one type of
 * it, and a document with 234 copies is hard to read.
 */
import { ERRORS, type ErrorCode } from "../../services/shared/core/errors.ts";
import { PROBLEM_TYPE } from "../http/problem.ts";
import { problemExamples } from "./content/problem-examples.ts";
import { RATE_LIMIT, responseHeaders } from "./headers.ts";
import { componentRef, DEPRECATION, type HeaderName } from "./operation-doc.ts";

/** Error codes that every operation may return. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  "bad_request",
  "unauthenticated",
  "ip_not_allowed",
  "insufficient_scope",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "validation_error",
  "rate_limited",
  "headers_too_large",
  "internal_error",
  "service_unavailable",
];

/** Statuses returned before the rate limit, so without RateLimit headers. */
const UNLIMITED: ReadonlySet<number> = new Set([400, 401, 408, 413, 415, 431]);

/** Statuses returned before or after the rate limit: before it for `ip_not_allowed` and load shedding. */
const AT_TIMES_LIMITED: ReadonlySet<number> = new Set([403, 500, 503]);

/** Statuses returned before the operation is known, so without its own headers. */
const UNREACHED: ReadonlySet<number> = new Set([413, 415, 431]);

/** Statuses returned before or after the operation is known. */
const AT_TIMES_REACHED: ReadonlySet<number> = new Set([400, 408]);

/** Names of responses with several codes; one with a single code is named after it. */
const NAMES: Readonly<Record<string, string>> = {
  "insufficient_scope ip_not_allowed": "Forbidden",
  "email_not_verified insufficient_scope ip_not_allowed tenant_suspended": "SendingForbidden",
  "conflict idempotency_key_reused": "IdempotencyConflict",
  "already_exists conflict idempotency_key_reused": "IdempotencyOrNameConflict",
  "conflict idempotency_key_reused invalid_state_transition": "IdempotencyOrStateConflict",
  "sender_id_not_approved validation_error": "InvalidSend",
};

/** The responses of one operation, by status, and the components that they refer to. */
export type ProblemResponses = {
  readonly references: Readonly<Record<string, { readonly $ref: string }>>;
  readonly components: Readonly<Record<string, object>>;
};

/** Describes the problems of an operation: `errors`, and those that every operation may answer. */
export function problemResponses(
  errors: readonly ErrorCode[],
  docsUrl: string,
  isDeprecated: boolean,
): ProblemResponses {
  const references: Record<string, { $ref: string }> = {};
  const components: Record<string, object> = {};
  for (const [status, codes] of byStatus([...new Set([...COMMON_ERRORS, ...errors])])) {
    const ownHeaders = isDeprecated && !UNREACHED.has(status);
    const name = `${ownHeaders ? "Deprecated" : ""}${nameOf(codes)}`;
    references[status] = { $ref: `#/components/responses/${name}` };
    components[name] = describe(status, codes, docsUrl, ownHeaders ? DEPRECATION : []);
  }
  return { references, components };
}

function byStatus(codes: readonly ErrorCode[]): [number, ErrorCode[]][] {
  const groups = Map.groupBy(codes, (code) => ERRORS[code].http);
  return [...groups].sort(([a], [b]) => a - b);
}

function nameOf(codes: readonly ErrorCode[]): string {
  const [only = "", ...others] = [...codes].sort();
  if (others.length === 0) {
    return only.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  }
  const name = NAMES[[only, ...others].join(" ")];
  if (name === undefined) throw new Error(`name the response with the codes ${codes.join(", ")}`);
  return name;
}

function describe(
  status: number,
  codes: readonly ErrorCode[],
  docsUrl: string,
  ofOperation: readonly HeaderName[],
) {
  const always: HeaderName[] = [];
  const atTimes: HeaderName[] = [];
  if (!UNLIMITED.has(status)) {
    (AT_TIMES_LIMITED.has(status) ? atTimes : always).push(...RATE_LIMIT);
  }
  if (status === 401) always.push("WWW-Authenticate");
  if (status === 429 || status === 503) always.push("Retry-After");
  (AT_TIMES_REACHED.has(status) ? atTimes : always).push(...ofOperation);
  const schema = codes.includes("insufficient_balance") ? "InsufficientBalanceProblem" : "Problem";
  const examples = Object.assign({}, ...codes.map((code) => problemExamples(code, docsUrl)));
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
    headers: responseHeaders(always, atTimes),
    content: { [PROBLEM_TYPE]: { schema: componentRef(schema), examples } },
    "x-error-codes": codes,
  };
}
