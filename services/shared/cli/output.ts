/** Prints results in the format that the user wants. Libraries of formats load when they are needed. */
import type { AppError } from "../core/errors.ts";
import { isRow, type Json, type Row, visible } from "./cell.ts";
import { createColors } from "./colors.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import type { Columns } from "./table.ts";

export const FORMATS = ["table", "wide", "json", "yaml", "csv"] as const;
export type Format = (typeof FORMATS)[number];

/** The columns of a list, and its rows for tables. Formats for programs show the rows of the list unchanged. */
export type ListView = Columns & {
  /** The rows of the table, where they differ from the rows of the list. */
  readonly tableRows?: readonly Row[];
};

export type Output = {
  /** Whether people read the output. */
  readonly isForPeople: boolean;
  /** Prints the command's one resource. */
  result(value: Json): Promise<void>;
  /** Prints the command's one list. */
  list(rows: readonly Row[], view: ListView): Promise<void>;
  /** Prints a line for people; silent in formats for programs. */
  note(line: string): void;
  /** Prints how to get the rest of a list, on standard error in formats for programs. */
  more(line: string): void;
  /** Prints on standard error why a command with a result failed; returns the exit code. */
  failed(error: AppError): number;
  /** Lets the next output replace all that is on the screen; does nothing in formats for programs. */
  clear(): void;
};

export type Sink = { write(text: string): unknown };

export type OutputStyle = {
  readonly format: Format;
  readonly isUtc: boolean;
  /** Columns of the terminal; undefined for no limit. */
  readonly width: number | undefined;
  readonly isColoured: boolean;
};

/** Terminal escapes (ECMA-48): the cursor to its first place, then erase the whole display. */
const CLEAR_SCREEN = "\u001b[H\u001b[2J";

/** `program` begins the lines of errors. */
export function createOutput(program: string, style: OutputStyle, out: Sink, err: Sink): Output {
  const { format } = style;
  const isForPeople = format === "table" || format === "wide";
  const colors = createColors(style.isColoured);
  const tableStyle = { ...style, isWide: format === "wide", colors };
  // Kept until there is something to show in its place: else a slow call would leave the screen empty.
  let pending = "";
  const print = (text: string) => {
    out.write(pending + text);
    pending = "";
  };
  return {
    isForPeople,
    async result(value) {
      if (!isForPeople) return print(await inFormat(format, value));
      if (!isRow(value)) return print(`${visible(String(value))}\n`);
      const { drawDetails } = await import("./details.ts");
      print(drawDetails(value, tableStyle));
    },
    async list(rows, view) {
      if (!isForPeople) return print(await inFormat(format, [...rows]));
      const shown = view.tableRows ?? rows;
      if (shown.length === 0) return print("none\n");
      const { drawTable } = await import("./table.ts");
      print(drawTable(shown, view, tableStyle));
    },
    note(line) {
      if (isForPeople) print(`${visible(line)}\n`);
    },
    more(line) {
      if (isForPeople) print(`${colors.faint(line)}\n`);
      else err.write(`${line}\n`);
    },
    failed(error) {
      if (pending !== "") print("");
      err.write(failure(program, error, format === "json"));
      return EXIT_CODES[error.code];
    },
    clear() {
      if (isForPeople) pending = CLEAR_SCREEN;
    },
  };
}

async function inFormat(format: Format, value: Json): Promise<string> {
  if (format === "yaml") {
    const { stringify } = await import("yaml");
    const text = stringify(value, { lineWidth: 0 });
    return `---\n${text}`;
  }
  if (format === "csv") {
    const { toCsv } = await import("./csv-output.ts");
    return toCsv((Array.isArray(value) ? value : [value]).filter(isRow));
  }
  return `${visible(JSON.stringify(value))}\n`;
}

/** An error as one line, or as JSON. */
export function failure(program: string, error: AppError, isJson: boolean): string {
  const { code, message, fields, extra } = error;
  if (isJson) return `${visible(JSON.stringify({ error: { code, message, fields, ...extra } }))}\n`;
  const line = visible(message);
  if (code === "internal_error") return `${program}: ${line}\n`;
  // Leave out a fault that the message says already: with one fault the message is that fault.
  const news = fields.filter((fault) => !saysAlready(message, fault));
  const faults = news.map((fault) => ` ${fault.field}: ${visible(fault.message)}`).join("");
  return `${program}: ${line}${faults} (${code})\n`;
}

function saysAlready(text: string, { field, message }: AppError["fields"][number]): boolean {
  return text === message || text.startsWith(`${field}: ${message}`);
}
