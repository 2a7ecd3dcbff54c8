/**
 * Reads CSV files of customers: UTF-8 with or without a byte order mark, RFC 4180 quoting, comma, semicolon or tab as
 * the header or a line `sep=;` before it has it. A line end inside quotes becomes one line feed. Empty cells after the
 * last column are ignored. Rows are parsed as they are taken, so a file needs no memory but its own, and files have at
 * most half of the event loop.
 */
import { pipeline, Readable } from "node:stream";
import { parse } from "csv-parse";
import { CSV_DELIMITERS_MAX, CSV_LINES_MAX, exceededCsvBound } from "../core/csv-bounds.ts";
import { AppError } from "../core/errors.ts";
import type { RowFault } from "../core/row-faults.ts";
import { createLoopTurns } from "../flow/loop-turns.ts";

const DELIMITERS = [",", ";", "\t"] as const;
/** The most characters of a row, far above the 1,000 of one value: a quote that never ends is found soon. */
const RECORD_CHARS_MAX = 200_000;
/** The octets that are parsed in one turn of the event loop: some 12 ms for short lines. */
const PIECE_BYTES = 16_384;

/** The turns of all files in the process. */
const turns = createLoopTurns();

type Parsed = { readonly record: string[]; readonly info: { readonly lines: number } };

/** The cells of a line by the names of the header row, in the header's order. */
export type CsvRow = { readonly line: number; readonly cells: ReadonlyMap<string, string> };

/** The required form of a file. */
export type CsvForm = {
  /** The column that every file has, in lower case. */
  readonly required: string;
  /** Other columns whose names may be written in any case. */
  readonly known: readonly string[];
  readonly columnsMax: number;
};

/**
 * The rows of a file, with the faults of lines that are no rows. Throws `validation_error` for a wrong file, and the
 * reason of `signal` once that is aborted: a file of half a million wrong numbers takes longer than its caller waits.
 */
export async function* readCsv(
  bytes: Uint8Array,
  form: CsvForm,
  signal?: AbortSignal,
): AsyncGenerator<CsvRow | RowFault> {
  const { text, delimiter } = withoutSeparatorLine(decode(bytes));
  let lastLine = 0;
  const parser = parse({
    bom: true,
    delimiter: delimiter ?? delimiterOf(text),
    info: true,
    on_record(record: string[], { lines }: { readonly lines: number }) {
      lastLine = lines;
      return record;
    },
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    max_record_size: RECORD_CHARS_MAX,
    // As spreadsheets read it: a quote inside a field without quotes is a character of it.
    relax_quotes: true,
  });
  // The loop below throws the errors of the file and of the parser.
  pipeline(Readable.from(piecesOf(Buffer.from(text), signal)), parser, () => undefined);
  let names: readonly string[] | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      if (names === undefined) names = readHeader(record, form);
      else yield toRow(record, firstLine(record, info.lines), names);
    }
  } catch (error) {
    if (error instanceof AppError || !isCsvError(error)) throw error;
    // The parser counts up to the end of the wrong record; its fault is where it begins.
    throw fileFault("invalid_csv", `From line ${lastLine + 1} on: ${describe(error.code)}`);
  }
  if (names === undefined) throw fileFault("too_few", "The file has no header row.");
}

/**
 * The parser keeps every record of a piece until it is taken, so it gets the file in pieces. Between two of them the
 * event loop serves others: streams alone would never return to it.
 */
async function* piecesOf(file: Buffer, signal?: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.length; at += PIECE_BYTES) {
    await turns.next();
    signal?.throwIfAborted();
    yield file.subarray(at, at + PIECE_BYTES);
  }
}

/** The line where a record begins; a quoted field may hold line ends. */
function firstLine(record: readonly string[], lastLine: number): number {
  return record.reduce((line, field) => line - (field.split("\n").length - 1), lastLine);
}

/** The names of the columns; known ones in lower case. */
function readHeader(record: readonly string[], form: CsvForm): string[] {
  const known = new Set([form.required, ...form.known]);
  const names = record.map((name) => {
    const trimmed = name.trim();
    const lower = trimmed.toLowerCase();
    return known.has(lower) ? lower : trimmed;
  });
  if (!names.includes(form.required)) {
    const message = `The header row names no column "${form.required}" with the numbers.`;
    throw fileFault("missing_column", message);
  }
  // Before the search for doubles, whose time grows with the square of the columns.
  if (names.length > form.columnsMax) {
    throw fileFault("too_many", `A file has at most ${form.columnsMax} columns.`);
  }
  const doubled = names.find((name, at) => name !== "" && names.indexOf(name) !== at);
  if (doubled !== undefined) {
    throw fileFault("duplicate_column", `The column "${doubled.slice(0, 64)}" is twice.`);
  }
  return names;
}

function toRow(
  record: readonly string[],
  line: number,
  names: readonly string[],
): CsvRow | RowFault {
  const isComplete = record.length >= names.length;
  if (!isComplete || record.slice(names.length).some((cell) => cell.trim() !== "")) {
    const message = `The line has ${record.length} columns, the header ${names.length}.`;
    return { line, field: "", code: "wrong_column_count", message };
  }
  return { line, cells: new Map(names.map((name, at) => [name, record[at] ?? ""])) };
}

/** A line that names the delimiter for spreadsheets. An empty one takes its place, so that lines keep their number. */
const SEPARATOR_LINE = /^(\ufeff?)"?sep=([,;\t])"?(?=\n)/i;

function withoutSeparatorLine(text: string) {
  const [line, mark, delimiter] = SEPARATOR_LINE.exec(text) ?? [];
  if (line === undefined) return { text, delimiter };
  return { text: `${mark}${text.slice(line.length)}`, delimiter };
}

/** The delimiter that the header row has most, outside quotes. */
function delimiterOf(text: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of text.slice(0, RECORD_CHARS_MAX)) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "\n" || character === "\r") {
      if ([...counts.values()].some((count) => count > 0)) break;
    } else if (counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  return DELIMITERS.reduce((best, one) =>
    (counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best,
  );
}

/** How files begin that are no text. */
const FORMATS = [
  { name: "a workbook (.xlsx) or an archive", begin: Buffer.from("PK\x03\x04") },
  { name: "a workbook (.xls)", begin: Buffer.from("d0cf11e0", "hex") },
  { name: "compressed", begin: Buffer.from("1f8b", "hex") },
];

function decode(bytes: Uint8Array): string {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const format = FORMATS.find(({ begin }) => file.subarray(0, begin.length).equals(begin));
  if (format !== undefined) {
    throw fileFault("invalid_csv", `The file is ${format.name}; save it as CSV in UTF-8.`);
  }
  // Text in UTF-16 has a byte order mark, or zero bytes: each ASCII character has one.
  const isMarked = (file[0] === 0xff && file[1] === 0xfe) || (file[0] === 0xfe && file[1] === 0xff);
  if (isMarked || file.includes(0)) throw wrongEncoding("UTF-16, or it is no text");
  const exceeded = exceededCsvBound(file);
  if (exceeded !== undefined) throw fileFault("too_many", TOO_MANY[exceeded]);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll(/\r\n?/g, "\n");
  } catch {
    throw wrongEncoding("another encoding, Latin-1 perhaps");
  }
}

const count = (value: number) => value.toLocaleString("en-US");

const TOO_MANY = {
  lines: `A file has at most ${count(CSV_LINES_MAX)} lines; split it.`,
  delimiters: `A file has at most ${count(CSV_DELIMITERS_MAX)} commas, semicolons and tabs; split it.`,
};

function wrongEncoding(found: string): AppError {
  return fileFault("invalid_encoding", `The file is in ${found}; save it as UTF-8.`);
}

function fileFault(code: string, message: string): AppError {
  return new AppError("validation_error", message, { fields: [{ field: "body", code, message }] });
}

type ParserError = Error & { readonly code: string };

function isCsvError(error: unknown): error is ParserError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("CSV_");
}

const TEXTS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quote is not closed.",
  CSV_MAX_RECORD_SIZE: "a line is too long; perhaps a quote is not closed.",
};

function describe(code: string): string {
  return TEXTS[code] ?? "it is no CSV.";
}
