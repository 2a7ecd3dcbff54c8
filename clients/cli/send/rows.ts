/** Decides what each row of a CSV file sends. A wrong row is left out alone. */

import { AppError } from "../../../services/shared/core/errors.ts";
import { normaliseNumber } from "../../../services/shared/core/phone.ts";
import type { RowFault } from "../../../services/shared/core/row-faults.ts";
import type { RowText } from "./text.ts";

/** A row as `readCsv` gives it. */
export type FileRow = { readonly line: number; readonly cells: ReadonlyMap<string, string> };

/** One item of a batch, and its line in the file. */
export type SendRow = {
  readonly line: number;
  readonly item: {
    readonly to: string;
    readonly body: string;
    readonly client_reference?: string;
  };
};

/** The values that all rows share. */
export type RowRules = {
  /** `--body`; without it each row has its own in the column `body`. */
  readonly text: RowText | undefined;
  /** `--reference`: of rows without their own. */
  readonly reference: string | undefined;
};

/** A function for the rows of one file, in their order: it remembers the numbers. */
export function createRowReader(rules: RowRules): (row: FileRow) => SendRow | RowFault {
  const seen = new Set<string>();
  let isFirst = true;
  return ({ line, cells }) => {
    if (isFirst) checkColumns(cells, rules);
    isFirst = false;
    const to = (cells.get("to") ?? "").trim();
    const fault = (field: string, code: string, message: string) => ({
      ...{ line, field, code, message },
    });
    if (to === "") return fault("to", "invalid_recipient", "The row has no number.");
    const filled = rules.text?.fill(cells) ?? { body: cells.get("body") ?? "" };
    if ("missing" in filled) {
      return fault(filled.missing, "missing_variable", `The column ${filled.missing} is empty.`);
    }
    if (filled.body === "") return fault("body", "empty_body", "The text is empty.");
    const reference = (cells.get("client_reference") ?? "").trim() || rules.reference;
    if (reference !== undefined && !/^[\x20-\x7e]{1,64}$/.test(reference)) {
      const message = "A reference has 1 to 64 printable ASCII characters.";
      return fault("client_reference", "invalid_format", message);
    }
    // The API compares the numbers of one request only, and a file needs several.
    const number = normaliseNumber(to) ?? to;
    if (seen.has(number)) {
      return fault("to", "duplicate_recipient", "An earlier row has the same number.");
    }
    seen.add(number);
    const item = { to, body: filled.body };
    return {
      line,
      item: reference === undefined ? item : { ...item, client_reference: reference },
    };
  };
}

/** A missing column would reject every row, so the file is refused as a whole, before anything is sent. */
function checkColumns(cells: ReadonlyMap<string, string>, { text }: RowRules): void {
  const missing = (text?.names ?? ["body"]).find((name) => !cells.has(name));
  if (missing === undefined) return;
  const hint = text === undefined ? " Give the text with --body, or in that column." : "";
  throw new AppError("validation_error", `The file has no column ${missing}.${hint}`);
}
