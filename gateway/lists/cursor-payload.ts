import { isId } from "../../services/shared/core/ids.ts";
import type { TimeRange } from "./time-range.ts";

/**
 * The start of the next page: after the last id shown, in the same time range. The range is part of the cursor, so
 * that a list of "the last 7 days" does not move between pages.
 */
export type CursorPayload = { readonly range: TimeRange; readonly beforeId: string };

/** Formats the payload of a cursor. */
export function formatCursorPayload({ range, beforeId }: CursorPayload): string {
  return `${range.afterMs.toString(36)}.${range.beforeMs.toString(36)}.${beforeId}`;
}

/** Parses the output of `formatCursorPayload`; `undefined` for anything else. */
export function parseCursorPayload(text: string): CursorPayload | undefined {
  const [after = "", before = "", beforeId = "", ...rest] = text.split(".");
  const range = { afterMs: Number.parseInt(after, 36), beforeMs: Number.parseInt(before, 36) };
  const isWhole = Number.isSafeInteger(range.afterMs) && Number.isSafeInteger(range.beforeMs);
  return isWhole && isId("message", beforeId) && rest.length === 0
    ? { range, beforeId }
    : undefined;
}
