/** Checks one submitted row of a campaign: its number, reference and variables. */

import { RECIPIENT_CHARS_MAX } from "../../shared/core/limits.ts";
import { parseRecipient } from "../../shared/core/phone.ts";
import type { RowFault } from "../../shared/core/row-faults.ts";
import { CLIENT_REFERENCE } from "../../shared/core/text-forms.ts";
import { NAME_CHARS_MAX } from "./template.ts";

/** A row as its customer wrote it. `line` is the line of a file, where the header is 1, or the index in a list. */
export type SubmittedRow = {
  readonly line: number;
  readonly to: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly clientReference: string | undefined;
};

/** A row that passes its checks; `to` is E.164. */
export type CheckedRow = SubmittedRow;

export const VARIABLES_MAX = 64;
const VALUE_CHARS_MAX = 1000;
/** How spreadsheets write long numbers: 2.34803E+12, also with a decimal comma. */
const SCIENTIFIC = /^[+-]?\d+(?:[.,]\d+)?[eE][+-]?\d+$/;

/** Checks a row; the first fault counts. */
export function checkRow(row: SubmittedRow): CheckedRow | RowFault {
  const { line, to, variables, clientReference } = row;
  const fault = (field: string, code: string, message: string): RowFault => ({
    line,
    field,
    code,
    message,
  });
  const number = to.trim();
  if (number === "") return fault("to", "required", "The row has no number.");
  if (SCIENTIFIC.test(number)) {
    const text = "A spreadsheet has shortened this number; format the column as text.";
    return fault("to", "scientific_notation", text);
  }
  if (number.length > RECIPIENT_CHARS_MAX) {
    return fault("to", "too_long", `A recipient has at most ${RECIPIENT_CHARS_MAX} characters.`);
  }
  const parsed = parseRecipient(number);
  if (!parsed.ok) return fault("to", "invalid_recipient", "This is not a mobile number.");
  if (clientReference !== undefined && !CLIENT_REFERENCE.test(clientReference)) {
    const text = "A reference has 1 to 64 printable ASCII characters.";
    return fault("client_reference", "invalid_format", text);
  }
  const names = Object.keys(variables);
  if (names.length > VARIABLES_MAX) {
    return fault("variables", "too_many", `A row has at most ${VARIABLES_MAX} variables.`);
  }
  for (const name of names) {
    const value = variables[name] ?? "";
    const field = `variables.${name.slice(0, NAME_CHARS_MAX)}`;
    if (name === "" || name.length > NAME_CHARS_MAX || /[{}]/.test(name)) {
      return fault(field, "invalid_format", "A variable's name has 1 to 64 characters, no braces.");
    }
    if (value.length > VALUE_CHARS_MAX) {
      return fault(field, "too_long", `A value has at most ${VALUE_CHARS_MAX} characters.`);
    }
    if (!value.isWellFormed() || !name.isWellFormed()) {
      return fault(field, "invalid_value", "The value holds half of a surrogate pair.");
    }
  }
  return { line, to: parsed.e164, variables, clientReference };
}
