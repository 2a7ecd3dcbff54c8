/** Quiet hours as text, for settings and the command line: `NG promotional Africa/Lagos 20:00-08:00`. */
import { checkQuietRule, type QuietRule, type QuietWindow } from "./quiet-hours.ts";
import type { TrafficClass } from "./traffic-class.ts";

/** The quiet hours without a setting and without rules of operators. */
export const DEFAULT_QUIET_HOURS = "NG promotional Africa/Lagos 20:00-08:00";

const WINDOW = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

/** Reads `20:00-08:00`, or several windows with commas; throws an `Error` for any other text. */
export function parseQuietWindows(text: string): QuietWindow[] {
  return text.split(",").map((window) => {
    const [, fromHour, from, untilHour = "24", until = "00"] = WINDOW.exec(window.trim()) ?? [];
    if (fromHour === undefined) throw new Error(`${window} is no window such as 20:00-08:00`);
    return {
      fromMinute: Number(fromHour) * 60 + Number(from),
      untilMinute: Number(untilHour) * 60 + Number(until),
    };
  });
}

/** Writes windows as `parseQuietWindows` reads them. */
export function formatQuietWindows(windows: readonly QuietWindow[]): string {
  return windows
    .map(({ fromMinute, untilMinute }) => `${timeOfDay(fromMinute)}-${timeOfDay(untilMinute)}`)
    .join(",");
}

/** Reads rules that are separated by semicolons; `none` is no rule. Throws for a rule that `checkQuietRule` refuses. */
export function parseQuietRules(text: string): QuietRule[] {
  if (text.trim() === "none") return [];
  return text.split(";").map((one) => {
    const [country = "", trafficClass = "", timeZone = "", ...windows] = one.trim().split(/\s+/);
    const rule = {
      country,
      trafficClass: trafficClass as TrafficClass,
      timeZone,
      windows: parseQuietWindows(windows.join("")),
    };
    checkQuietRule(rule);
    return rule;
  });
}

function timeOfDay(minute: number): string {
  const [hour, rest] = [Math.floor(minute / 60), minute % 60];
  return `${String(hour).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}
