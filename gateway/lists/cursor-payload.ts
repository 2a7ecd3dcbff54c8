import { isId } from "../../services/shared/core/ids.ts";
import type { Window } from "./time-range.ts";

/**
 * Where the next page of a list begins: after the last id shown, in the same window. The window
 * travels along, so that a list over "the last 7 days" does not move while it is paged through.
 */
export type Position = { readonly window: Window; readonly beforeId: string };

/** A position as the text inside a cursor. */
export function formatCursorPayload({ window, beforeId }: Position): string {
  return `${window.afterMs.toString(36)}.${window.beforeMs.toString(36)}.${beforeId}`;
}

/** Reads what `formatCursorPayload` wrote; `undefined` for anything else. */
export function parseCursorPayload(text: string): Position | undefined {
  const [after = "", before = "", beforeId = "", ...rest] = text.split(".");
  const window = { afterMs: Number.parseInt(after, 36), beforeMs: Number.parseInt(before, 36) };
  const isWhole = Number.isSafeInteger(window.afterMs) && Number.isSafeInteger(window.beforeMs);
  return isWhole && isId("message", beforeId) && rest.length === 0
    ? { window, beforeId }
    : undefined;
}
