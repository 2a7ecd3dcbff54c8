/** Writes CSV (RFC 4180). */

/** Rows as text; texts of customers in the columns `guarded` cannot be run by a spreadsheet. */
export function csvText(
  rows: readonly (readonly string[])[],
  guarded: readonly number[] = [],
): string {
  const lines = rows.map((row) =>
    row.map((text, at) => field(guarded.includes(at) ? guardFormula(text) : text)).join(","),
  );
  return [...lines, ""].join("\r\n");
}

/** A spreadsheet would run a text that begins so. */
function guardFormula(text: string): string {
  return /^[=+\-@\t]/.test(text) ? `'${text}` : text;
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
