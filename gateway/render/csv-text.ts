/** Writes CSV (RFC 4180). */

/** Rows as CSV text. Texts in the columns `guarded` are changed so that a spreadsheet does not run them. */
export function csvText(
  rows: readonly (readonly string[])[],
  guarded: readonly number[] = [],
): string {
  const lines = rows.map((row) =>
    row.map((text, at) => field(guarded.includes(at) ? guardFormula(text) : text)).join(","),
  );
  return [...lines, ""].join("\r\n");
}

/** Puts an apostrophe before a text that a spreadsheet would run as a formula. */
function guardFormula(text: string): string {
  return /^[=+\-@\t]/.test(text) ? `'${text}` : text;
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
