/**
 * Quiet hours: times of the day at which messages of a traffic class must not be sent to a country. The wall clock of
 * the rule's time zone decides, also on days on which clocks change: an hour that the clock skips has no quiet minutes,
 * and an hour that comes twice is quiet twice. So a window that begins in the skipped hour begins when the clock jumps.
 */
import { AppError, type FieldError } from "./errors.ts";
import { TRAFFIC_CLASSES, type TrafficClass } from "./traffic-class.ts";

/** Minutes of the day by the wall clock, from 0 to 1440. Ends on the next day unless `until` is after `from`. */
export type QuietWindow = { readonly fromMinute: number; readonly untilMinute: number };

/** The quiet hours of one traffic class in one country. */
export type QuietRule = {
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  readonly trafficClass: TrafficClass;
  /** IANA name. */
  readonly timeZone: string;
  /** Without windows no time is quiet. */
  readonly windows: readonly QuietWindow[];
};

/** A span of time that is quiet, or open, from its beginning to its end; the end is excluded. */
export type Period = {
  readonly isQuiet: boolean;
  readonly fromMs: number;
  readonly untilMs: number;
};

/** Finds the period that contains an instant. */
export type PeriodAt = (atMs: number) => Period;

export const QUIET_WINDOWS_MAX = 8;
const MINUTES_OF_DAY = 1440;
const DAY_MS = 86_400_000;
/** A rule has a boundary at least every second day, so the boundaries of these days enclose every period of a day. */
const DAYS_AROUND = 3;
/** UTC days whose periods a rule keeps; a full cache is cleared. */
const DAYS_KEPT_MAX = 200;

/** Throws `validation_error` that names every wrong field; an endless window is one. */
export function checkQuietRule(rule: QuietRule): void {
  const fields: FieldError[] = [];
  const add = (field: string, code: string, message: string) =>
    void fields.push({ field, code, message });
  if (!/^[A-Z]{2}$/.test(rule.country)) {
    add("country", "invalid_format", "A country is a code of two letters such as NG.");
  }
  if (!TRAFFIC_CLASSES.includes(rule.trafficClass)) {
    add("traffic_class", "invalid_value", `A traffic class is ${TRAFFIC_CLASSES.join(", ")}.`);
  }
  if (!isTimeZone(rule.timeZone)) {
    add("time_zone", "invalid_value", "A time zone is an IANA name such as Africa/Lagos.");
  }
  checkWindows(rule.windows, add);
  if (fields.length === 0) return;
  throw new AppError("validation_error", "The quiet hours are not valid.", { fields });
}

function checkWindows(
  windows: readonly QuietWindow[],
  add: (field: string, code: string, message: string) => void,
): void {
  if (windows.length === 0) add("windows", "too_few", "Quiet hours have at least one window.");
  if (windows.length > QUIET_WINDOWS_MAX) {
    add("windows", "too_many", `Quiet hours have at most ${QUIET_WINDOWS_MAX} windows.`);
  }
  const isMinute = (minute: number, max: number) =>
    Number.isInteger(minute) && minute >= 0 && minute <= max;
  windows.forEach(({ fromMinute, untilMinute }, at) => {
    const isInDay =
      isMinute(fromMinute, MINUTES_OF_DAY - 1) && isMinute(untilMinute, MINUTES_OF_DAY);
    if (!isInDay) add(`windows[${at}]`, "out_of_range", "A window has minutes of the day.");
    else if (fromMinute === untilMinute % MINUTES_OF_DAY) {
      add(`windows[${at}]`, "invalid_value", "A window of a whole day never ends.");
    }
  });
  const minutes = Array.from({ length: MINUTES_OF_DAY }, (_, minute) => minute);
  if (windows.length > 1 && minutes.every((minute) => isQuietMinute(windows, minute))) {
    add("windows", "invalid_value", "Together the windows leave no open minute.");
  }
}

function isTimeZone(name: string): boolean {
  // Without offsets such as +01:00, which know no change of clocks.
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function isQuietMinute(windows: readonly QuietWindow[], minute: number): boolean {
  return windows.some(({ fromMinute, untilMinute }) =>
    fromMinute < untilMinute
      ? minute >= fromMinute && minute < untilMinute
      : minute >= fromMinute || minute < untilMinute,
  );
}

/** Prepares a checked rule that has windows. A second query of the same day costs one lookup. */
export function compileQuietRule({ timeZone, windows }: QuietRule): PeriodAt {
  const days = new Map<number, readonly Period[]>();
  return (atMs) => {
    const day = Math.floor(atMs / DAY_MS);
    let periods = days.get(day);
    if (periods === undefined) {
      if (days.size >= DAYS_KEPT_MAX) days.clear();
      periods = periodsAround(timeZone, windows, day);
      days.set(day, periods);
    }
    const found = periods.find(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs);
    if (found === undefined) throw new Error(`no period of quiet hours contains ${atMs}`);
    return found;
  };
}

/** The periods that touch a UTC day. */
function periodsAround(
  timeZone: string,
  windows: readonly QuietWindow[],
  day: number,
): readonly Period[] {
  const edges = new Set(windows.flatMap((window) => [window.fromMinute, window.untilMinute]));
  const first = instantAt((day - DAYS_AROUND) * DAY_MS, timeZone);
  const last = instantAt((day + DAYS_AROUND + 1) * DAY_MS, timeZone);
  const instants = new Set<number>();
  for (let date = first.toPlainDate(); ; date = date.add({ days: 1 })) {
    if (Temporal.PlainDate.compare(date, last.toPlainDate()) > 0) break;
    for (const minute of edges)
      for (const atMs of instantsOf(date, minute, timeZone)) instants.add(atMs);
  }
  // Where the clock changes, the wall clock jumps into or out of a window.
  for (let change = first.getTimeZoneTransition("next"); change !== null; ) {
    if (change.epochMilliseconds > last.epochMilliseconds) break;
    instants.add(change.epochMilliseconds);
    change = change.getTimeZoneTransition("next");
  }
  const isQuietAt = (atMs: number) => {
    const { hour, minute } = instantAt(atMs, timeZone);
    return isQuietMinute(windows, hour * 60 + minute);
  };
  return mergePeriods(
    [...instants].sort((a, b) => a - b),
    isQuietAt,
  ).filter(({ fromMs, untilMs }) => fromMs < (day + 1) * DAY_MS && untilMs > day * DAY_MS);
}

/** Both instants of a wall-clock time that comes twice; around a skipped one, instants that are no boundary. */
function instantsOf(date: Temporal.PlainDate, minute: number, timeZone: string): number[] {
  const time = Temporal.PlainTime.from({
    hour: Math.floor(minute / 60) % 24,
    minute: minute % 60,
  });
  const local = date.toPlainDateTime(time);
  return (["earlier", "later"] as const).map(
    (disambiguation) => local.toZonedDateTime(timeZone, { disambiguation }).epochMilliseconds,
  );
}

function mergePeriods(instants: readonly number[], isQuietAt: (atMs: number) => boolean): Period[] {
  const periods: Period[] = [];
  instants.slice(0, -1).forEach((fromMs, at) => {
    const untilMs = instants[at + 1] ?? fromMs;
    const isQuiet = isQuietAt(fromMs);
    const before = periods.at(-1);
    if (before?.isQuiet === isQuiet) periods[periods.length - 1] = { ...before, untilMs };
    else periods.push({ isQuiet, fromMs, untilMs });
  });
  return periods;
}

function instantAt(atMs: number, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
}
