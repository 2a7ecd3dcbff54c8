/**
 * The `cursor` of a list whose pages start after an id, a name or a place. It is valid only with the same caller and
 * filters. The list of messages has more in its cursors: `cursor-payload.ts`.
 */
import { canonicalJson } from "../../services/shared/core/canonical-json.ts";
import type { FieldError } from "../../services/shared/core/errors.ts";
import type { Cursors } from "./cursor.ts";

/** The cursor of one request. */
export type PageCursor = {
  /** The last entry of the previous page; empty for the first page. */
  readonly after: string;
  readonly faults: readonly FieldError[];
  /** The `next_cursor` of a page that ends with this entry; null when it is the last page. */
  next(last: string | undefined): string | null;
};

/** The fault of a cursor that was not issued for this list, caller and filters. */
export const WRONG_CURSOR: FieldError = {
  field: "cursor",
  code: "invalid_value",
  message:
    "The cursor is not of this list with these filters. Use next_cursor of the previous page.",
};

/**
 * Reads the cursor of a request; `list` names the list, and `filters` has the caller's tenant and every filter.
 * `isEntry` recognises the text that `next` was called with.
 */
export function readPageCursor(
  cursors: Cursors,
  request: {
    readonly list: string;
    readonly filters: readonly unknown[];
    readonly cursor: string | undefined;
    readonly isEntry?: (text: string) => boolean;
  },
): PageCursor {
  const binding = canonicalJson([request.list, ...request.filters]);
  const next = (last: string | undefined) =>
    last === undefined || last === "" ? null : cursors.issue(binding, last);
  if (request.cursor === undefined) return { after: "", faults: [], next };
  const after = cursors.read(binding, request.cursor);
  if (after === undefined || request.isEntry?.(after) === false) {
    return { after: "", faults: [WRONG_CURSOR], next };
  }
  return { after, faults: [], next };
}
