/** One resource as lines of name and value; parts of it are indented, and lists of parts are tables. */
import { cellText, isRow, type Json, type Row } from "./cell.ts";
import { drawTable, type TableStyle } from "./table.ts";

const INDENT = 2;

/** Draws a resource, without fields that have no value. */
export function drawDetails(row: Row, style: TableStyle): string {
  const entries = Object.entries(row).filter(([, value]) => hasValue(value));
  const plain = entries.filter(([, value]) => !isPart(value));
  const width = Math.max(0, ...plain.map(([name]) => name.length));
  return entries
    .map(([name, value]) => {
      if (!isPart(value)) {
        const text = cellText(name, value, style);
        return `${name.padEnd(width)}  ${style.colors.value(name, text)}\n`;
      }
      return `${name}\n${indented(isRow(value) ? drawDetails(value, style) : drawParts(value, style))}`;
    })
    .join("");
}

function drawParts(value: Json, style: TableStyle): string {
  const rows = (Array.isArray(value) ? value : []).filter(isRow);
  const flat = rows.map(flatten);
  const names = [...new Set(flat.flatMap((row) => Object.keys(row)))];
  const width = style.width === undefined ? undefined : style.width - INDENT;
  // The last column is often a text of any length.
  const columns = names.map((name, at) => (at === names.length - 1 ? `${name}…` : name));
  return drawTable(flat, { columns }, { ...style, width });
}

/** The fields of nested objects under names such as `error.code`. */
export function flatten(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]): [string, Json][] =>
      isRow(value)
        ? Object.entries(flatten(value)).map(([part, item]) => [`${name}.${part}`, item])
        : [[name, value]],
    ),
  );
}

function isPart(value: Json): boolean {
  return isRow(value) || (Array.isArray(value) && value.some(isRow));
}

function hasValue(value: Json): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isRow(value)) return Object.values(value).some(hasValue);
  return value !== null && value !== "";
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, " ".repeat(INDENT));
}
