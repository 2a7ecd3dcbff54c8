import type { AppError } from "../../shared/core/errors.ts";
import type { Json } from "./to-json.ts";

export type Output = {
  readonly isJson: boolean;
  /** Prints the command's one result. */
  result(value: Json): void;
  /** Prints a line for people; silent with `--json`. */
  note(line: string): void;
  /** Prints how to get the rest of a list, on standard error with `--json`. */
  more(line: string): void;
  /** Prints on standard error why a command with a result failed; returns the exit code 1. */
  failed(error: AppError): number;
  /** Clears the screen before the next result; does nothing with `--json`. */
  clear(): void;
};

/** Terminal escapes (ECMA-48): erase the whole display, then the cursor to its first place. */
const CLEAR_SCREEN = "\u001b[2J\u001b[H";

export type Sink = { write(text: string): unknown };

/** Prints JSON on one line, or a readable form of it. */
export function createOutput(isJson: boolean, out: Sink, err: Sink): Output {
  return {
    isJson,
    result(value) {
      out.write(isJson ? `${visible(JSON.stringify(value))}\n` : readable(value));
    },
    note(line) {
      if (!isJson) out.write(`${visible(line)}\n`);
    },
    more(line) {
      (isJson ? err : out).write(`${line}\n`);
    },
    failed(error) {
      err.write(failure(error, isJson));
      return 1;
    },
    clear() {
      if (!isJson) out.write(CLEAR_SCREEN);
    },
  };
}

/** An error as one line, or as JSON. */
export function failure(error: AppError, isJson: boolean): string {
  const { code, message, fields, extra } = error;
  if (isJson) return `${visible(JSON.stringify({ error: { code, message, fields, ...extra } }))}\n`;
  if (code === "internal_error") return `smsctl: ${message}\n`;
  const faults = fields.map(({ field, message }) => ` ${field}: ${message}`).join("");
  return `smsctl: ${message}${faults} (${code})\n`;
}

/** Escapes control characters (ECMA-48) as JSON does: customers' texts may hold terminal commands. */
function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}

function readable(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? "none\n" : table(value);
  if (typeof value !== "object" || value === null) return `${cell(value)}\n`;
  const width = Math.max(...Object.keys(value).map((name) => name.length));
  return Object.entries(value)
    .filter(([, item]) => item !== null && item !== "")
    .map(([name, item]) => `${name.padEnd(width)}  ${cell(item)}\n`)
    .join("");
}

/** A table without empty columns. */
function table(rows: readonly Json[]): string {
  const objects = rows.filter((row): row is { [name: string]: Json } => isObject(row));
  if (objects.length !== rows.length) return rows.map((row) => `${cell(row)}\n`).join("");
  // Rows may have different columns; show the union.
  const names = [...new Set(objects.flatMap((row) => Object.keys(row)))].filter((name) =>
    objects.some((row) => cell(row[name] ?? null) !== ""),
  );
  const lines = [names, ...objects.map((row) => names.map((name) => cell(row[name] ?? null)))];
  const widths = names.map((_, at) =>
    // Not Math.max(...rows): a call takes a limited number of arguments.
    lines.reduce((width, line) => Math.max(width, (line[at] ?? "").length), 0),
  );
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
  const isList = Array.isArray(value) && value.every((item) => !isObject(item));
  if (isList) return visible(value.join(","));
  return visible(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
