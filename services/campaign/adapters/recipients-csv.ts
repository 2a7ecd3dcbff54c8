/**
 * Reads a file of recipients: UTF-8 with or without a byte order mark, RFC 4180 quoting, comma, semicolon or tab as
 * the header has it. A line end inside quotes becomes one line feed. Rows are parsed as they are taken, so a file
 * needs no memory but its own.
 */
import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { AppError } from "../../shared/core/errors.ts";
import { type RowFault, type SubmittedRow, VARIABLES_MAX } from "../domain/recipient-row.ts";

const DELIMITERS = [",", ";", "\t"] as const;
const NUMBER_COLUMN = "to";
const REFERENCE_COLUMN = "client_reference";
/** One field is at most a value of 1,000 characters; a quote that never ends is found soon. */
const RECORD_CHARS_MAX = 200_000;
const PIECE_BYTES = 65_536;

type Parsed = { readonly record: string[]; readonly info: { readonly lines: number } };

/** The rows of a file, with the faults of lines that are no rows. Throws `validation_error` for a wrong file. */
export async function* readRecipientsCsv(
  bytes: Uint8Array,
): AsyncGenerator<SubmittedRow | RowFault> {
  const text = decode(bytes);
  const delimiter = delimiterOf(text);
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    max_record_size: RECORD_CHARS_MAX,
    // As spreadsheets read it: a quote inside a field without quotes is a character of it.
    relax_quotes: true,
  });
  Readable.from(piecesOf(Buffer.from(text))).pipe(parser);
  let columns: Columns | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      if (columns === undefined) columns = readHeader(record);
      else yield toRow(record, firstLine(record, info.lines), columns);
    }
  } catch (error) {
    if (error instanceof AppError || !isCsvError(error)) throw error;
    throw fileFault("invalid_csv", `Line ${error.lines}: ${describe(error.code)}`);
  }
  if (columns === undefined) throw fileFault("too_few", "The file has no header row.");
}

/** The parser keeps every record of a piece until it is taken, so it gets the file in pieces. */
function* piecesOf(file: Buffer): Generator<Buffer> {
  for (let at = 0; at < file.length; at += PIECE_BYTES) yield file.subarray(at, at + PIECE_BYTES);
}

/** The line where a record begins; a quoted field may hold line ends. */
function firstLine(record: readonly string[], lastLine: number): number {
  return record.reduce((line, field) => line - (field.split("\n").length - 1), lastLine);
}

type Columns = {
  readonly names: readonly string[];
  readonly number: number;
  readonly reference: number;
};

function readHeader(record: readonly string[]): Columns {
  const names = record.map((name) => name.trim());
  const lower = names.map((name) => name.toLowerCase());
  const number = lower.indexOf(NUMBER_COLUMN);
  if (number === -1) {
    throw fileFault("missing_column", 'The header row names no column "to" with the numbers.');
  }
  const doubled = lower.find((name, at) => name !== "" && lower.indexOf(name) !== at);
  if (doubled !== undefined)
    throw fileFault("duplicate_column", `The column "${doubled}" is twice.`);
  if (names.length > VARIABLES_MAX + 2) {
    throw fileFault("too_many", `A file has at most ${VARIABLES_MAX} variables.`);
  }
  return { names, number, reference: lower.indexOf(REFERENCE_COLUMN) };
}

function toRow(record: readonly string[], line: number, columns: Columns): SubmittedRow | RowFault {
  const { names, number, reference } = columns;
  if (record.length !== names.length) {
    const message = `The line has ${record.length} columns, the header ${names.length}.`;
    return { line, field: "", code: "wrong_column_count", message };
  }
  const variables: Record<string, string> = {};
  names.forEach((name, at) => {
    if (at === number || at === reference || name === "") return;
    // An empty cell is an empty value: the column exists.
    variables[name] = record[at] ?? "";
  });
  const clientReference = (reference === -1 ? "" : (record[reference] ?? "")).trim();
  return {
    line,
    to: record[number] ?? "",
    variables,
    clientReference: clientReference === "" ? undefined : clientReference,
  };
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

function decode(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) throw wrongEncoding("UTF-16");
  if (bytes[0] === 0xfe && bytes[1] === 0xff) throw wrongEncoding("UTF-16");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll(/\r\n?/g, "\n");
  } catch {
    throw wrongEncoding("another encoding, Latin-1 perhaps");
  }
}

function wrongEncoding(found: string): AppError {
  return fileFault("invalid_encoding", `The file is in ${found}; save it as UTF-8.`);
}

function fileFault(code: string, message: string): AppError {
  return new AppError("validation_error", message, { fields: [{ field: "body", code, message }] });
}

type CsvFault = Error & { readonly code: string; readonly lines?: number };

function isCsvError(error: unknown): error is CsvFault {
  return error instanceof Error && "code" in error && String(error.code).startsWith("CSV_");
}

const TEXTS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quote is not closed.",
  CSV_MAX_RECORD_SIZE: "the line is too long; perhaps a quote is not closed.",
};

function describe(code: string): string {
  return TEXTS[code] ?? "it is no CSV.";
}
