/** Reads a file of recipients: every column but the number and the reference is a variable. */
import { readCsv } from "../../shared/io/csv.ts";
import { type RowFault, type SubmittedRow, VARIABLES_MAX } from "../domain/recipient-row.ts";

const FORM = { required: "to", known: ["client_reference"], columnsMax: VARIABLES_MAX + 2 };

/** The rows of a file, with the faults of lines that are no rows. Throws `validation_error` for a wrong file. */
export async function* readRecipientsCsv(
  bytes: Uint8Array,
): AsyncGenerator<SubmittedRow | RowFault> {
  for await (const row of readCsv(bytes, FORM)) {
    if ("code" in row) yield row;
    else {
      const variables = new Map(row.cells);
      for (const name of ["to", "client_reference", ""]) variables.delete(name);
      const clientReference = row.cells.get("client_reference")?.trim() ?? "";
      yield {
        line: row.line,
        to: row.cells.get("to") ?? "",
        // An empty cell is an empty value: the column exists.
        variables: Object.fromEntries(variables),
        clientReference: clientReference === "" ? undefined : clientReference,
      };
    }
  }
}
