import type { FieldError } from "../../../services/shared/core/errors.ts";
import { durationInWords } from "../../../services/shared/core/format-duration.ts";
import { parseInstant } from "../../../services/shared/core/rfc3339.ts";

/** Bounds of `send_at`, relative to now. */
export type SendTimeBounds = { readonly minMs: number; readonly maxMs: number };

/** Transit time allowed for a `send_at` at the minimum; many clients also round to whole seconds. */
const TRANSIT_GRACE_MS = 1000;

/** Parses a `send_at` that the schema accepts: 0 for "now", the time, or a fault (`docs/contract.md#scheduling`). */
export function parseSendAt(
  value: unknown,
  nowMs: number,
  bounds: SendTimeBounds,
): { readonly sendAtMs: number } | { readonly fault: FieldError } {
  if (value === undefined || value === null) return { sendAtMs: 0 };
  const atMs = typeof value === "string" ? parseInstant(value) : undefined;
  if (atMs === undefined) {
    return fault(
      "invalid_format",
      "The value must be an RFC 3339 date and time with its offset, such as 2027-01-15T09:30:00Z.",
    );
  }
  if (atMs < nowMs + bounds.minMs - TRANSIT_GRACE_MS || atMs > nowMs + bounds.maxMs) {
    const [least, most] = [durationInWords(bounds.minMs), durationInWords(bounds.maxMs)];
    return fault("out_of_range", `The time must be from ${least} to ${most} from now.`);
  }
  return { sendAtMs: atMs };
}

function fault(code: string, message: string): { fault: FieldError } {
  return { fault: { field: "send_at", code, message } };
}
