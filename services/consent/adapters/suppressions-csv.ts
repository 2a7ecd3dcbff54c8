import { isFault, type RowFault } from "../../shared/core/row-faults.ts";
import { readCsv } from "../../shared/io/read-csv.ts";
import type { SubmittedSuppression } from "../app/suppressions.ts";

const FORM = { required: "number", known: ["sender", "reason"], columnsMax: 64 };

/** The rows of a file; columns without a meaning are ignored. Throws `validation_error` for a wrong file. */
export async function* readSuppressionsCsv(
  bytes: Uint8Array,
  signal?: AbortSignal,
): AsyncGenerator<SubmittedSuppression | RowFault> {
  for await (const row of readCsv(bytes, FORM, signal)) {
    if (isFault(row)) yield row;
    else {
      const cell = (name: string) => row.cells.get(name)?.trim() ?? "";
      const { line } = row;
      yield { line, number: cell("number"), sender: cell("sender"), reason: cell("reason") };
    }
  }
}
