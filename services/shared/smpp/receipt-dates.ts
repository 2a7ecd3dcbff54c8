/**
 * Reads the date of a receipt as UTC: YYMMDDhhmm, with seconds, or with a four-digit year; further
 * digits (tenths) are ignored. `offsetMinutes` is the offset of the carrier's clock from UTC.
 */
export function parseReceiptDate(text: string, offsetMinutes = 0): Date | undefined {
  const digits = /^\d{10,14}/.exec(text.trim())?.[0];
  if (digits === undefined) return undefined;
  const long = digits.startsWith("20") && digits.length >= 12 ? digits : undefined;
  // Twelve digits that start with "20" have a four-digit year, unless that gives no valid date.
  const full = long === undefined ? undefined : parse(long.slice(0, 4), long.slice(4));
  const date = full ?? parse(`20${digits.slice(0, 2)}`, digits.slice(2, 12));
  return date && new Date(date.getTime() - offsetMinutes * 60_000);
}

function parse(year: string, rest: string): Date | undefined {
  const at = (index: number): number => Number(rest.slice(index * 2, index * 2 + 2));
  const [month, day, hour, minute] = [at(0), at(1), at(2), at(3)];
  const second = rest.length >= 10 ? at(4) : 0;
  const date = new Date(Date.UTC(Number(year), month - 1, day, hour, minute, second));
  const isReal =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  return isReal ? date : undefined;
}

/** Writes a date as YYMMDDhhmm in UTC, SMPP 3.4 appendix B. */
export function formatReceiptDate(date: Date): string {
  return date.toISOString().replace(/[-T:]/g, "").slice(2, 12);
}
