import type { FieldError } from "../../../services/shared/core/errors.ts";
import { durationInWords } from "../../../services/shared/core/format-duration.ts";
import { parseInstant } from "../../../services/shared/core/rfc3339.ts";

/** Bounds of `send_at`, in milliseconds from now. */
export type SendTimeBounds = { readonly minMs: number; readonly maxMs: number };

/** What was a minute ahead when it was written is a moment less when it is read; many clients write whole seconds. */
const TRANSIT_GRACE_MS = 1000;

/** Reads a `send_at` that the schema has passed: 0 for "now", or the instant, or its fault. */
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
      "send_at is an RFC 3339 date-time, such as 2027-01-15T09:30:00Z.",
    );
  }
  if (atMs < nowMs + bounds.minMs - TRANSIT_GRACE_MS || atMs > nowMs + bounds.maxMs) {
    const [least, most] = [durationInWords(bounds.minMs), durationInWords(bounds.maxMs)];
    return fault("out_of_range", `send_at lies from ${least} to ${most} ahead.`);
  }
  return { sendAtMs: atMs };
}

function fault(code: string, message: string): { fault: FieldError } {
  return { fault: { field: "send_at", code, message } };
}
