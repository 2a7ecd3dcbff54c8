import { AppError, type ErrorCode, type FieldError } from "../../../services/shared/core/errors.ts";
import { type Problem, toProblem } from "../../http/problem.ts";
import type { Operation } from "../../operations/operation.ts";
import { ERROR_PAGES } from "./error-texts.ts";

const REQUEST_ID = "req_01M6DSG7HXT9W4M2N8R7C3D6EJ";

/** The parts of an operation that its problem examples use. */
type ProblemContext = Pick<Operation, "scope" | "doc">;

const OF_A_SEND: readonly FieldError[] = [
  { field: "to", code: "required", message: "This field is required." },
  {
    field: "client_reference",
    code: "too_long",
    message: "The value must NOT have more than 64 characters.",
  },
];

/** Field errors, by a member of the example body. */
const OF_A_BODY: Readonly<Record<string, FieldError>> = {
  messages: {
    field: "messages[0].to",
    code: "required",
    message: "This field is required.",
  },
  url: {
    field: "url",
    code: "invalid_value",
    message:
      "The URL must use HTTPS on an allowed port, name a public host, and carry no credentials.",
  },
  since: {
    field: "since",
    code: "invalid_format",
    message: "The value does not have the required form.",
  },
};

const OF_A_LIST: FieldError = {
  field: "limit",
  code: "out_of_range",
  message: "The value must be <= 100.",
};

/** The field error of an unknown query parameter. */
const OF_ANY: FieldError = {
  field: "verbose",
  code: "unknown_field",
  message: "There is no such field.",
};

const SENDER: FieldError = {
  field: "from",
  code: "invalid_value",
  message: "This sender ID cannot be used now.",
};

/** An example problem with this code; for one operation, or for a send. */
export function problemExample(
  code: ErrorCode,
  docsUrl: string,
  operation?: ProblemContext,
): Problem {
  const error = new AppError(code, detailOf(code, operation), {
    fields: fieldsOf(code, operation),
    extra:
      code === "insufficient_balance"
        ? { required_amount: "40.0000", available_amount: "12.5000", currency: "NGN" }
        : {},
  });
  return toProblem(error, REQUEST_ID, docsUrl);
}

function detailOf(code: ErrorCode, operation: ProblemContext | undefined): string {
  if (operation !== undefined && code === "insufficient_scope") {
    return `The API key lacks the scope ${operation.scope}.`;
  }
  if (operation?.doc.tag !== "Webhook endpoints") return ERROR_PAGES[code].detail;
  if (code === "not_found") return "There is no such webhook endpoint.";
  if (code === "invalid_state_transition") return "The endpoint is disabled.";
  const isChange = code === "conflict" && operation.doc.takesIdempotencyKey !== true;
  return isChange
    ? "The endpoint is being changed by others; try again."
    : ERROR_PAGES[code].detail;
}

function fieldsOf(code: ErrorCode, operation: ProblemContext | undefined): readonly FieldError[] {
  if (code === "sender_id_not_approved") return [SENDER];
  if (code !== "validation_error") return [];
  const { body, query, tag } = operation?.doc ?? {};
  const members = Object.keys((body?.example ?? {}) as object);
  const ofBody = members.flatMap((name) => OF_A_BODY[name] ?? []);
  if (ofBody.length > 0) return ofBody;
  if (tag === undefined || tag === "Sending") return OF_A_SEND;
  return [query?.limit === undefined ? OF_ANY : OF_A_LIST];
}
