import { AppError, type ErrorCode, type FieldError } from "../../services/shared/core/errors.ts";
import { type Problem, toProblem } from "../problem.ts";
import { ERROR_PAGES } from "./error-texts.ts";

const REQUEST_ID = "req_01M6DSG7HXT9W4M2N8R7C3D6EJ";

const FIELDS: Partial<Record<ErrorCode, readonly FieldError[]>> = {
  validation_error: [
    { field: "to", code: "required", message: "This field is required." },
    {
      field: "client_reference",
      code: "too_long",
      message: "The value must NOT have more than 64 characters.",
    },
  ],
  sender_id_not_approved: [
    { field: "from", code: "invalid_value", message: "This sender ID cannot be used now." },
  ],
};

/** An example of a problem with this code, in the form of real ones. */
export function problemExample(code: ErrorCode, docsUrl: string): Problem {
  const error = new AppError(code, ERROR_PAGES[code].detail, {
    fields: FIELDS[code] ?? [],
    extra:
      code === "insufficient_balance"
        ? { required_amount: "40.0000", available_amount: "12.5000", currency: "NGN" }
        : {},
  });
  return toProblem(error, REQUEST_ID, docsUrl);
}
