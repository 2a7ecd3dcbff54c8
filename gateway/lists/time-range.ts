import type { FieldError } from "../../services/shared/core/errors.ts";

/** The time a list covers, in milliseconds: from `afterMs` on, before `beforeMs`. */
export type Window = { readonly afterMs: number; readonly beforeMs: number };

/** What the caller asked for; absent bounds are `undefined`. */
export type RequestedRange = {
  readonly createdAfterMs: number | undefined;
  readonly createdBeforeMs: number | undefined;
};

/** What a list covers when the caller names no start (`service.md` "Limits"). */
export const LIST_DEFAULT_MS = 7 * 86_400_000;

/** How long a client's "12 months ago", or "92 days ago until now", may be under way and still count as that. */
const TRANSIT_GRACE_MS = 1000;

/**
 * The window of a list request (`service.md` "GET /v1/messages"): with no bound the last 7 days,
 * with only an end the 7 days before it, with only a start up to now; at most `spanMaxMs` long,
 * and starting at most 12 months ago.
 */
export function resolveTimeRange(
  { createdAfterMs, createdBeforeMs }: RequestedRange,
  nowMs: number,
  spanMaxMs: number,
): { readonly window: Window } | { readonly faults: readonly FieldError[] } {
  const beforeMs = createdBeforeMs ?? nowMs;
  const afterMs = createdAfterMs ?? beforeMs - LIST_DEFAULT_MS;
  const graceMs = createdBeforeMs === undefined ? TRANSIT_GRACE_MS : 0;
  const faults: FieldError[] = [];
  if (createdAfterMs !== undefined && createdAfterMs < monthsBefore(nowMs) - TRANSIT_GRACE_MS) {
    faults.push({
      field: "created_after",
      code: "out_of_range",
      message: "Messages are kept for 12 months; created_after lies within them.",
    });
  }
  if (createdBeforeMs !== undefined && beforeMs < afterMs) {
    const message = "created_before lies before created_after.";
    faults.push({ field: "created_before", code: "out_of_range", message });
  } else if (beforeMs - afterMs > spanMaxMs + graceMs) {
    const days = Math.floor(spanMaxMs / 86_400_000);
    const message = `One request covers at most ${days} days.`;
    faults.push({ field: "created_before", code: "range_too_large", message });
  }
  return faults.length > 0 ? { faults } : { window: { afterMs, beforeMs } };
}

/** The same date and time 12 months earlier; of 29 February, the 28th. */
function monthsBefore(nowMs: number): number {
  const then = new Date(nowMs);
  const day = then.getUTCDate();
  then.setUTCFullYear(then.getUTCFullYear() - 1);
  if (then.getUTCDate() !== day) then.setUTCDate(0);
  return then.getTime();
}
