/** Instants on a command line: RFC 3339 or an age on input, the local zone on output. */
import { parseInstant } from "../core/rfc3339.ts";

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The accepted forms of an instant, for error messages. */
export const INSTANT_FORMS =
  "an age such as 90s, 30m, 1h or 7d, or a date-time such as 2026-07-01T00:00:00Z";

/** Milliseconds since 1970 of an RFC 3339 date-time, or of an age (`1h30m`) before `nowMs`. */
export function parseWhen(text: string, nowMs: number): number | undefined {
  if (!/^(\d{1,6}[smhdw])+$/.test(text)) return parseInstant(text);
  let ageMs = 0;
  for (const [, count, unit = ""] of text.matchAll(/(\d+)([smhdw])/g)) {
    ageMs += Number(count) * (UNITS[unit] ?? 0);
  }
  return Math.max(0, nowMs - ageMs);
}

/** An instant as `formatWhen` writes it, without the present year: the lines of tables are narrow. */
export function formatShort(text: string, isUtc: boolean, nowMs: number): string {
  const full = formatWhen(text, isUtc);
  const year = formatWhen(new Date(nowMs).toISOString(), isUtc).slice(0, 5);
  return full !== text && full.startsWith(year) ? full.slice(year.length) : full;
}

/**
 * An RFC 3339 instant as people read it: `2026-07-01 14:05:09` in the local zone, or with Z in UTC. Returns other
 * text unchanged.
 */
export function formatWhen(text: string, isUtc: boolean): string {
  const instantMs = parseInstant(text);
  if (instantMs === undefined) return text;
  const at = new Date(instantMs);
  if (isUtc) return `${at.toISOString().slice(0, 19).replace("T", " ")}Z`;
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
