const UNITS = Object.entries({ day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000 });

/** Formats a duration in milliseconds in its largest whole unit: "90 days", "1 minute", "1500 ms". */
export function durationInWords(ms: number): string {
  const [unit, size] = UNITS.find(([, one]) => ms >= one && ms % one === 0) ?? ["ms", 1];
  const count = ms / size;
  return `${count} ${unit}${count === 1 || unit === "ms" ? "" : "s"}`;
}
