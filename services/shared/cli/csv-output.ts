import { stringify } from "csv-stringify/sync";
import { cellText, isRow, type Json, type Row } from "./cell.ts";
import { flatten } from "./details.ts";

/** An amount may begin with a minus: a spreadsheet must read it as a number, not as a formula. */
const NUMBER = /^-?\d+(\.\d+)?$/;

/**
 * Lines of CSV (RFC 4180). `columns` writes a header first. A text that a spreadsheet would run as a formula gets a
 * leading apostrophe.
 */
export function csvLines(
  rows: readonly (readonly string[])[],
  columns?: readonly string[],
): string {
  return stringify([...(columns === undefined ? [] : [columns]), ...rows] as string[][], {
    record_delimiter: "windows",
    escape_formulas: true,
    cast: {
      string: (value) => (NUMBER.test(value) ? { value, escape_formulas: false } : value),
    },
  });
}

/** Objects as CSV, with a column for every field that one of them has. */
export function toCsv(rows: readonly Row[]): string {
  const flat = rows.map(flatten);
  const names = [...new Set(flat.flatMap((row) => Object.keys(row)))];
  return csvLines(
    flat.map((row) => names.map((name) => csvCell(row[name] ?? null))),
    names,
  );
}

/** Instants stay RFC 3339, for programs. */
function csvCell(value: Json): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return value;
  if (Array.isArray(value) && !value.some(isRow)) return value.join(" ");
  return cellText("", value, { isUtc: true });
}
