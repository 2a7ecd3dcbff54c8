/** Reads a file of recipients: every column but the number and the reference is a variable. */
import { isFault, type RowFault } from "../../shared/core/row-faults.ts";
import { readCsv } from "../../shared/io/read-csv.ts";
import { type SubmittedRow, VARIABLES_MAX } from "../domain/check-row.ts";

const FORM = { required: "to", known: ["client_reference"], columnsMax: VARIABLES_MAX + 2 };

/** How spreadsheets keep a number as text, without white space around it: '0803…, ="0803…". */
const AS_TEXT = /^(?:'([^']*)|="([^"]*)")$/;

/** Trim first: a regular expression with white space at both ends takes time quadratic in the length of a cell. */
function asTyped(cell: string): string {
  const [, quoted, formula] = AS_TEXT.exec(cell.trim()) ?? [];
  return quoted ?? formula ?? cell;
}

/** The rows of a file, with the faults of lines that are no rows. Throws `validation_error` for a wrong file. */
export async function* readRecipientsCsv(
  bytes: Uint8Array,
  signal?: AbortSignal,
): AsyncGenerator<SubmittedRow | RowFault> {
  for await (const row of readCsv(bytes, FORM, signal)) {
    if (isFault(row)) yield row;
    else {
      const variables = new Map(row.cells);
      for (const name of ["to", "client_reference", ""]) variables.delete(name);
      const clientReference = row.cells.get("client_reference")?.trim() ?? "";
      yield {
        line: row.line,
        to: asTyped(row.cells.get("to") ?? ""),
        // An empty cell is an empty value: the column exists.
        variables: Object.fromEntries(variables),
        clientReference: clientReference === "" ? undefined : clientReference,
      };
    }
  }
}
