import {
  AppError,
  ERRORS,
  type ErrorCode,
  type FieldError,
} from "../../../services/shared/core/errors.ts";
import { refusedKey } from "../../auth/refused-key.ts";
import { type Problem, toProblem } from "../../http/problem.ts";
import { ERROR_PAGES } from "./error-texts.ts";

const REQUEST_ID = "req_01M6DSG7HXT9W4M2N8R7C3D6EJ";

/** One case of an error code: when the API answers with it, and the text. */
type Case = {
  readonly summary: string;
  readonly detail?: string;
  readonly fields?: readonly FieldError[];
};

const REQUIRED = "This field is required.";

/** Error codes with several cases. Every other code has one example, that of its page. */
const CASES: Partial<Readonly<Record<ErrorCode, readonly [Case, ...Case[]]>>> = {
  unauthenticated: [
    { summary: "An unknown key" },
    { summary: "A revoked key", detail: refusedKey(undefined, "revoked").message },
    { summary: "No key", detail: refusedKey(undefined).message },
    { summary: "A header of another form", detail: refusedKey("Basic").message },
  ],
  not_found: [
    { summary: "An unknown message" },
    { summary: "An unknown webhook endpoint", detail: "There is no such webhook endpoint." },
  ],
  conflict: [
    { summary: "The first request of the key is running" },
    {
      summary: "Two changes of one webhook endpoint",
      detail: "The endpoint is being changed by others; try again.",
    },
  ],
  invalid_state_transition: [
    { summary: "A message that was sent" },
    { summary: "A disabled webhook endpoint", detail: "The endpoint is disabled." },
  ],
  validation_error: [
    {
      summary: "A send without its recipient",
      fields: [
        { field: "to", code: "required", message: REQUIRED },
        {
          field: "client_reference",
          code: "too_long",
          message: "The value must have at most 64 characters.",
        },
      ],
    },
    {
      summary: "An item of a batch",
      fields: [{ field: "messages[0].to", code: "required", message: REQUIRED }],
    },
    {
      summary: "A limit that is too large",
      fields: [
        { field: "limit", code: "out_of_range", message: "The value must be from 1 to 100." },
      ],
    },
    {
      summary: "A misspelt parameter",
      fields: [
        {
          field: "limt",
          code: "unknown_field",
          message: "There is no such parameter. Did you mean limit?",
        },
      ],
    },
    {
      summary: "A URL of a webhook endpoint",
      fields: [
        {
          field: "url",
          code: "invalid_value",
          message:
            "The URL must use HTTPS on port 443 or 8443, name a public host, and have no user name or password.",
        },
      ],
    },
  ],
  sender_id_not_approved: [
    {
      summary: "A sender ID that cannot be used",
      fields: [
        {
          field: "from",
          code: "invalid_value",
          message: "The sender ID cannot be used now. GET /v1/sender-ids lists yours.",
        },
      ],
    },
  ],
};

/** An example of each case of a code, by a name that begins with the code. */
export function problemExamples(
  code: ErrorCode,
  docsUrl: string,
): Record<string, { readonly summary: string; readonly value: Problem }> {
  const cases = CASES[code] ?? [{ summary: ERRORS[code].title }];
  return Object.fromEntries(
    cases.map((one, at) => [
      at === 0 ? code : `${code}_${at + 1}`,
      { summary: one.summary, value: toExample(code, docsUrl, one) },
    ]),
  );
}

/** The first example of a code. */
export function problemExample(code: ErrorCode, docsUrl: string): Problem {
  return toExample(code, docsUrl, CASES[code]?.[0]);
}

function toExample(code: ErrorCode, docsUrl: string, one: Case | undefined): Problem {
  const extra =
    code === "insufficient_balance"
      ? { required_amount: "40.0000", available_amount: "12.5000", currency: "NGN" }
      : undefined;
  const { detail = ERROR_PAGES[code].detail, fields = [] } = one ?? {};
  const error = new AppError(code, detail, { fields, ...(extra === undefined ? {} : { extra }) });
  return toProblem(error, REQUEST_ID, docsUrl);
}
