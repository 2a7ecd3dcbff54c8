import type { FieldError } from "../../services/shared/core/errors.ts";

/** The time range of a list: `afterMs` inclusive, `beforeMs` exclusive. */
export type TimeRange = { readonly afterMs: number; readonly beforeMs: number };

/** The bounds of the request; `undefined` when absent. */
export type RequestedRange = {
  readonly createdAfterMs: number | undefined;
  readonly createdBeforeMs: number | undefined;
};

/** Range of a list without a start (`docs/contract.md#lists`). */
export const LIST_DEFAULT_MS = 7 * 86_400_000;

/** Transit time allowed for a client's "12 months ago" or "92 days ago until now". */
const TRANSIT_GRACE_MS = 1000;

/**
 * Resolves the time range of a list request (`docs/contract.md#lists`): without bounds the last 7 days, with only an
 * end the 7 days before it, with only a start up to now. It is at most `spanMaxMs` long and starts at most 12 months
 * ago.
 */
export function resolveTimeRange(
  { createdAfterMs, createdBeforeMs }: RequestedRange,
  nowMs: number,
  spanMaxMs: number,
): { readonly range: TimeRange } | { readonly faults: readonly FieldError[] } {
  const beforeMs = createdBeforeMs ?? nowMs;
  const afterMs = createdAfterMs ?? beforeMs - LIST_DEFAULT_MS;
  const graceMs = createdBeforeMs === undefined ? TRANSIT_GRACE_MS : 0;
  const faults: FieldError[] = [];
  if (createdAfterMs !== undefined && createdAfterMs < monthsBefore(nowMs) - TRANSIT_GRACE_MS) {
    faults.push({
      field: "created_after",
      code: "out_of_range",
      message: "The time must be at most 12 months ago: messages are kept no longer.",
    });
  }
  if (createdBeforeMs !== undefined && beforeMs < afterMs) {
    const message = "The time must be after created_after.";
    faults.push({ field: "created_before", code: "out_of_range", message });
  } else if (beforeMs - afterMs > spanMaxMs + graceMs) {
    const days = Math.floor(spanMaxMs / 86_400_000);
    const message = `One request may span at most ${days} days. Bring created_after and created_before closer.`;
    faults.push({ field: "created_before", code: "range_too_large", message });
  }
  return faults.length > 0 ? { faults } : { range: { afterMs, beforeMs } };
}

/** The same date and time 12 months earlier; 28 February for 29 February. */
function monthsBefore(nowMs: number): number {
  const then = new Date(nowMs);
  const day = then.getUTCDate();
  then.setUTCFullYear(then.getUTCFullYear() - 1);
  if (then.getUTCDate() !== day) then.setUTCDate(0);
  return then.getTime();
}
