/** Tables for people: the columns that fit, of the width that fits. The package `table` draws them. */
import stringWidth from "string-width";
import { getBorderCharacters, type TableUserConfig, table } from "table";
import { cellText, fieldAt, type Row } from "./cell.ts";
import type { Colors } from "./colors.ts";

/**
 * The columns of a list, each the path of a field (`error.code`). An ending `…` marks a text that may be cut
 * short. The first are the most important: a narrow terminal shows no more than fit.
 */
export type Columns = {
  readonly columns: readonly string[];
  /** Further columns, shown with `-o wide` only. */
  readonly wide?: readonly string[];
  /** Headings of fields, where the field's name is too long or unclear. */
  readonly headings?: Readonly<Record<string, string>>;
};

export type TableStyle = {
  /** Columns of the terminal; undefined for no limit. */
  readonly width: number | undefined;
  readonly isWide: boolean;
  readonly isUtc: boolean;
  readonly colors: Colors;
};

const GAP = 2;
/** A text that is cut keeps at least this many columns. */
const TEXT_WIDTH_MIN = 12;

type Column = {
  readonly path: string;
  readonly heading: string;
  readonly isText: boolean;
  readonly cells: readonly string[];
  readonly isNumber: boolean;
  readonly width: number;
};

/** Draws a table, without columns that have no value in any row. */
export function drawTable(rows: readonly Row[], view: Columns, style: TableStyle): string {
  const names = [...view.columns, ...(style.isWide ? (view.wide ?? []) : [])];
  const filled = names
    .map((name) => readColumn(name, rows, view, style.isUtc))
    .filter(({ cells }) => cells.some((cell) => cell !== ""));
  const shown = style.isWide || style.width === undefined ? filled : fitInto(filled, style.width);
  if (shown.length === 0) return "";
  const { colors } = style;
  const lines = [
    shown.map(({ heading }) => colors.heading(heading)),
    ...rows.map((_, at) =>
      shown.map(({ cells, path, width }) => colors.value(path, cut(cells[at] ?? "", width))),
    ),
  ];
  const config: TableUserConfig = {
    border: getBorderCharacters("void"),
    drawHorizontalLine: () => false,
    columnDefault: { paddingLeft: 0, paddingRight: GAP },
    columns: shown.map(({ width, isNumber }, at) => ({
      width,
      alignment: isNumber ? "right" : "left",
      ...(at === shown.length - 1 ? { paddingRight: 0 } : {}),
    })),
  };
  return table(lines, config).replaceAll(/[ ]+$/gm, "");
}

function readColumn(
  name: string,
  rows: readonly Row[],
  { headings }: Columns,
  isUtc: boolean,
): Column {
  const isText = name.endsWith("…");
  const path = isText ? name.slice(0, -1) : name;
  const field = path.split(".").at(-1) ?? path;
  const heading = (headings?.[path] ?? path.replaceAll(/[._]/g, " ")).toUpperCase();
  const cells = rows.map((row) => cellText(field, fieldAt(row, path), { isUtc, isShort: true }));
  const isNumber = rows.every((row) => {
    const value = fieldAt(row, path);
    return value === null || typeof value === "number" || /^(-?\d+\.\d+)?$/.test(String(value));
  });
  const width = cells.reduce(
    (most, cell) => Math.max(most, stringWidth(cell)),
    stringWidth(heading),
  );
  return { path, heading, isText, cells, isNumber, width };
}

/** Leaves out the last columns, then narrows the texts, until the row fits. */
function fitInto(columns: readonly Column[], width: number): Column[] {
  const least = ({ isText, width: own, heading }: Column) =>
    isText ? Math.min(own, Math.max(TEXT_WIDTH_MIN, heading.length)) : own;
  const total = (shown: readonly Column[], of: (column: Column) => number) =>
    shown.reduce((sum, column) => sum + of(column) + GAP, -GAP);
  const shown = [...columns];
  while (shown.length > 1 && total(shown, least) > width) shown.pop();
  let spare = width - total(shown, least);
  return shown.map((column) => {
    const own = Math.min(column.width, least(column) + Math.max(0, spare));
    spare -= own - least(column);
    // A single column that is wider than the terminal is cut, too.
    return { ...column, width: Math.min(own, width) };
  });
}

/** The beginning of a text that fills at most `width` columns of the terminal. */
function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
