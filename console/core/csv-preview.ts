/** The first rows of a CSV file, to show and to map its columns. The service reads the whole file itself. */

/** Splits the first rows; quotes as in RFC 4180; the separator is the one that the header has most of. */
export function firstRows(text: string, max: number): string[][] {
  const clean = text.replace(/^\uFEFF/, "");
  const separator = separatorOf(clean.slice(0, clean.search(/[\r\n]|$/)));
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < clean.length && rows.length < max; at += 1) {
    const char = clean[at] as string;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (clean[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === separator) {
      row.push(cell);
      cell = "";
    } else if (char === "\n" || char === "\r") {
      if (char === "\r" && clean[at + 1] === "\n") at += 1;
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else cell += char;
  }
  if (rows.length < max && (cell !== "" || row.length > 0)) rows.push([...row, cell]);
  return rows.filter((cells) => cells.some((one) => one.trim() !== ""));
}

/** The separator that a header line has most of. */
export function separatorOf(header: string): string {
  const counts = [",", ";", "\t"].map((one) => [one, header.split(one).length] as const);
  return counts.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/** The placeholders of a campaign's text, each once. */
export function placeholders(body: string): string[] {
  return [...new Set([...body.matchAll(/\{\{\s*([\w.-]+)\s*\}\}/g)].map(([, name]) => name ?? ""))];
}
