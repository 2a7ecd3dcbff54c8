/** The most lines of a file. A file has at most 4 MiB (gateway), and a line with the shortest number some 8 bytes. */
export const CSV_LINES_MAX = 500_000;

/** The most commas, semicolons and tabs of a file, in fields too. */
export const CSV_DELIMITERS_MAX = 1_000_000;

const LF = 0x0a;
const CR = 0x0d;
const TAB = 0x09;
const COMMA = 0x2c;
const SEMICOLON = 0x3b;

/**
 * The bound that UTF-8 text exceeds, if any. The parser makes an object of each line and cell, which takes three
 * seconds for 4 MiB of short ones; this pass over the bytes refuses such a file first.
 */
export function exceededCsvBound(file: Uint8Array): "lines" | "delimiters" | undefined {
  let lines = 0;
  let delimiters = 0;
  for (let at = 0; at < file.length; at++) {
    const byte = file[at] as number;
    if (byte > SEMICOLON) continue;
    if (byte === LF || (byte === CR && file[at + 1] !== LF)) {
      if (++lines > CSV_LINES_MAX) return "lines";
    } else if (byte === COMMA || byte === SEMICOLON || byte === TAB) {
      if (++delimiters > CSV_DELIMITERS_MAX) return "delimiters";
    }
  }
  return undefined;
}
