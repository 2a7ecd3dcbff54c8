import type { QuietHours } from "../api/types.ts";

/** Whether the quiet hours hold at that moment, in their own time zone. */
export function quietNow({ timeZone, windows }: QuietHours, now: Date): boolean {
  const [hours = 0, minutes = 0] = new Intl.DateTimeFormat("en-GB", {
    ...{ timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  })
    .format(now)
    .split(":")
    .map(Number);
  const minute = hours * 60 + minutes;
  return windows.some(({ fromMinute, untilMinute }) =>
    fromMinute < untilMinute
      ? minute >= fromMinute && minute < untilMinute
      : minute >= fromMinute || minute < untilMinute,
  );
}

/** The windows as clocks show them: `20:00–08:00`. */
export function windowsText({ windows }: QuietHours): string {
  const clock = (minute: number) =>
    `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
  return windows
    .map(({ fromMinute, untilMinute }) => `${clock(fromMinute)}–${clock(untilMinute)}`)
    .join(", ");
}
