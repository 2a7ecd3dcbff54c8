const DAY_MS = 86_400_000;
const ZERO = 0x30;

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Milliseconds since 1970 of an RFC 3339 date-time (section 5.6); undefined for any other text. Accepts any
 * offset, any length of fraction (digits after the third are cut off), `t` and `z` in either case. Refuses a
 * space instead of the T, impossible dates, hour 24, leap seconds (no clock here can distinguish them from the
 * next second), and text before or after.
 */
export function parseInstant(text: string): number | undefined {
  const days = parseDate(text);
  if (days === undefined || (text.charCodeAt(10) | 0x20) !== 0x74) return undefined;
  const hour = readDigits(text, 11, 2);
  const minute = readDigits(text, 14, 2);
  const second = readDigits(text, 17, 2);
  if (text[13] !== ":" || text[16] !== ":") return undefined;
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined;

  let at = 19;
  let fractionMs = 0;
  if (text[at] === ".") {
    const start = ++at;
    for (let unit = 100; unit >= 1 && isDigit(text.charCodeAt(at)); at++) {
      fractionMs += (text.charCodeAt(at) - ZERO) * unit;
      unit /= 10;
    }
    if (at === start) return undefined;
    FURTHER_DIGITS.lastIndex = at;
    at += FURTHER_DIGITS.exec(text)?.[0].length ?? 0;
  }
  const offsetMinutes = parseOffset(text, at);
  if (offsetMinutes === undefined) return undefined;
  return days * DAY_MS + ((hour * 60 + minute - offsetMinutes) * 60 + second) * 1000 + fractionMs;
}

/** The digits behind the milliseconds: a client may send megabytes of them, and a loop over those takes long. */
const FURTHER_DIGITS = /\d*/y;

/** A fraction with a non-zero digit after its milliseconds. */
const FINER = /\.\d{3}\d*[1-9]/;

/**
 * The first whole millisecond at or after an RFC 3339 date-time. Comparing it with instants in whole
 * milliseconds keeps "at or after" and "before" correct for finer bounds.
 */
export function parseBound(text: string): number | undefined {
  const cutMs = parseInstant(text);
  return cutMs !== undefined && FINER.test(text) ? cutMs + 1 : cutMs;
}

let cachedDay = Number.NaN;
let cachedDayText = "";
const TWO_DIGITS = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));
const THREE_DIGITS = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, "0"));

/**
 * The instant as RFC 3339 in UTC with milliseconds, the same text as `Date#toISOString`. Responses hold many
 * instants of few days, so the text of the last day is cached. Throws RangeError for an invalid instant.
 */
export function formatInstant(instantMs: number): string {
  const whole = Math.trunc(instantMs);
  const day = Math.floor(whole / DAY_MS);
  if (day !== cachedDay) {
    const text = new Date(whole).toISOString();
    cachedDayText = text.slice(0, -13);
    cachedDay = day;
    return text;
  }
  const rest = whole - day * DAY_MS;
  const seconds = Math.floor(rest / 1000);
  const minutes = Math.floor(seconds / 60);
  const hh = TWO_DIGITS[Math.floor(minutes / 60)];
  const mm = TWO_DIGITS[minutes % 60];
  return `${cachedDayText}${hh}:${mm}:${TWO_DIGITS[seconds % 60]}.${THREE_DIGITS[rest % 1000]}Z`;
}

/** Days since 1970 of the full-date at the start of the text. */
function parseDate(text: string): number | undefined {
  const year = readDigits(text, 0, 4);
  const month = readDigits(text, 5, 2);
  const day = readDigits(text, 8, 2);
  if (text[4] !== "-" || text[7] !== "-" || !(year >= 0 && month >= 1 && day >= 1))
    return undefined;
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const daysInMonth = month === 2 && isLeapYear ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
  if (day > daysInMonth) return undefined;
  // Date.UTC maps years 0 to 99 to the twentieth century; 400 years always have 146,097 days.
  return Date.UTC(year + 400, month - 1, day) / DAY_MS - 146_097;
}

/** Minutes east of UTC of the offset that fills the text from `at` to its end. */
function parseOffset(text: string, at: number): number | undefined {
  if ((text.charCodeAt(at) | 0x20) === 0x7a) return at + 1 === text.length ? 0 : undefined;
  const sign = text[at] === "+" ? 1 : text[at] === "-" ? -1 : 0;
  const hour = readDigits(text, at + 1, 2);
  const minute = readDigits(text, at + 4, 2);
  if (sign === 0 || text[at + 3] !== ":" || at + 6 !== text.length) return undefined;
  return hour <= 23 && minute <= 59 ? sign * (hour * 60 + minute) : undefined;
}

/** The number that `count` digits from `at` spell; otherwise NaN, which fails every comparison. */
function readDigits(text: string, at: number, count: number): number {
  let value = 0;
  for (let end = at + count; at < end; at++) {
    const code = text.charCodeAt(at);
    if (!isDigit(code)) return Number.NaN;
    value = value * 10 + code - ZERO;
  }
  return value;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}
