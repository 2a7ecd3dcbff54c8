import type { Json } from "./present.ts";

/** Where a command's result goes. */
export type Output = {
  readonly isJson: boolean;
  /** Prints the command's one result. */
  result(value: Json): void;
  /** Prints a line for people; silent with `--json`. */
  note(line: string): void;
  /** Empties the screen for a result that takes the place of the one before; nothing with `--json`. */
  clear(): void;
};

/** Terminal escapes (ECMA-48): erase the whole display, then the cursor to its first place. */
const CLEAR_SCREEN = "\u001b[2J\u001b[H";

/** Prints JSON on one line, or a readable form of it. */
export function createOutput(isJson: boolean, write: (text: string) => void): Output {
  return {
    isJson,
    result(value) {
      write(isJson ? `${JSON.stringify(value)}\n` : readable(value));
    },
    note(line) {
      if (!isJson) write(`${line}\n`);
    },
    clear() {
      if (!isJson) write(CLEAR_SCREEN);
    },
  };
}

function readable(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? "none\n" : table(value);
  if (typeof value !== "object" || value === null) return `${String(value)}\n`;
  const width = Math.max(...Object.keys(value).map((name) => name.length));
  return Object.entries(value)
    .filter(([, item]) => item !== null && item !== "")
    .map(([name, item]) => `${name.padEnd(width)}  ${cell(item)}\n`)
    .join("");
}

/** A table of the columns in which the rows say something. */
function table(rows: readonly Json[]): string {
  const objects = rows.filter((row): row is { [name: string]: Json } => isObject(row));
  if (objects.length !== rows.length) return rows.map((row) => `${cell(row)}\n`).join("");
  const names = Object.keys(objects[0] ?? {}).filter((name) =>
    objects.some((row) => cell(row[name] ?? null) !== ""),
  );
  const lines = [names, ...objects.map((row) => names.map((name) => cell(row[name] ?? null)))];
  const widths = names.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? "").length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((text, at) => text.padEnd(widths[at] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function cell(value: Json): string {
  if (value === null) return "";
  if (Array.isArray(value) && value.every((item) => !isObject(item))) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
