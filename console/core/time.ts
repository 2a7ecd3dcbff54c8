/** Times in the viewer's zone. */

const DATE = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

export function showTime(instant: string): string {
  return DATE.format(new Date(instant));
}

const STEPS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** "3 minutes ago". */
export function showAge(instant: string, nowMs = Date.now()): string {
  const ms = Date.parse(instant) - nowMs;
  for (const [unit, size] of STEPS) {
    if (Math.abs(ms) >= size || unit === "second")
      return RELATIVE.format(Math.round(ms / size), unit);
  }
  return "";
}

/** How long between two instants: "1.2 s". */
export function showSpan(fromInstant: string, toInstant: string): string {
  const ms = Date.parse(toInstant) - Date.parse(fromInstant);
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** The text of an `<input type="datetime-local">`, which is in the viewer's zone, as an instant. */
export function toInstant(local: string): string | undefined {
  if (local === "") return undefined;
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** How far the viewer's hours begin after those of UTC: not at all, or 30 or 45 minutes. */
export function zoneMinutesMs(now = new Date()): number {
  const minutes = -now.getTimezoneOffset() % 60;
  // Local 00 minutes is at the other side of the hour in UTC.
  return ((60 - minutes) % 60) * 60_000;
}

const QUARTER_HOUR_MS = 900_000;

/** The instant `days` days ago, rounded down to a quarter hour: usage is counted in quarter hours. */
export function daysAgo(days: number, nowMs = Date.now()): string {
  const ms = nowMs - days * 86_400_000;
  return new Date(ms - (ms % QUARTER_HOUR_MS)).toISOString();
}
