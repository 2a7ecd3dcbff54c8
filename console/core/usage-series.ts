import type { UsageGroup } from "../api/types.ts";
import { toUnits } from "./money.ts";

/** The counts of one hour or day. */
export type UsagePoint = {
  /** The hour's start as an instant, or the day as `YYYY-MM-DD`. */
  readonly key: string;
  readonly messages: number;
  readonly delivered: number;
  /** Delivered or not; messages on their way do not count. */
  readonly ended: number;
  /** In ten-thousandths. */
  readonly units: bigint;
};

const HOUR_MS = 3_600_000;

/** Statuses of messages that the carrier has answered for. */
const ENDED: ReadonlySet<string> = new Set(["delivered", "undelivered", "expired", "failed"]);

/** The starts of the last 24 hours, the present one included, in a zone whose hours begin `offsetMs` after UTC's. */
export function lastHours(nowMs: number, offsetMs = 0): readonly string[] {
  const start = nowMs - offsetMs;
  const present = start - (start % HOUR_MS) + offsetMs;
  return Array.from({ length: 24 }, (_, at) =>
    new Date(present - (23 - at) * HOUR_MS).toISOString(),
  );
}

/** The last days of the viewer, today included. */
export function lastDays(count: number, now: Date): readonly string[] {
  return Array.from({ length: count }, (_, at) => {
    // Noon: a day of 23 or 25 hours must not be left out or named twice.
    const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - (count - 1 - at), 12);
    const two = (part: number) => String(part).padStart(2, "0");
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
  });
}

/** One point for each key, in order, also for those without a message. */
export function seriesOf(keys: readonly string[], groups: readonly UsageGroup[]): UsagePoint[] {
  return keys.map((key) => {
    const own = groups.filter((group) => (group.hour ?? group.day) === key);
    const sum = (wanted: (status: string) => boolean) =>
      own
        .filter(({ status = "" }) => wanted(status))
        .reduce((total, { messages }) => total + messages, 0);
    return {
      key,
      messages: sum(() => true),
      delivered: sum((status) => status === "delivered"),
      ended: sum((status) => ENDED.has(status)),
      units: own.reduce((total, { amount }) => total + toUnits(amount), 0n),
    };
  });
}

/** The sum of points. */
export function sumOf(points: readonly UsagePoint[]): Omit<UsagePoint, "key"> {
  return points.reduce(
    (sum, point) => ({
      messages: sum.messages + point.messages,
      delivered: sum.delivered + point.delivered,
      ended: sum.ended + point.ended,
      units: sum.units + point.units,
    }),
    { messages: 0, delivered: 0, ended: 0, units: 0n },
  );
}

/** `98 %`; a dash while nothing has ended. It is 100 only when all were delivered. */
export function shareText({ delivered, ended }: Pick<UsagePoint, "delivered" | "ended">): string {
  if (ended === 0) return "–";
  const share = (delivered * 100) / ended;
  return `${share >= 99 && share < 100 ? Math.floor(share * 10) / 10 : Math.round(share)} %`;
}
