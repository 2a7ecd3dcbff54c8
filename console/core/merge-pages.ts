import type { Page } from "../api/types.ts";

/** The rows of a list that are shown: its first page, and the further ones that were asked for. */
export type ShownPages<T> = {
  readonly rows: readonly T[];
  readonly next: string | null;
  /** Whether more than the first page is shown. */
  readonly isExtended: boolean;
  /** Whether more than a page of new rows has come, which are not shown. */
  readonly isBehind: boolean;
};

/** A list of which the first page is shown. */
export function onlyFirst<T>({ data, next_cursor: next }: Page<T>): ShownPages<T> {
  return { rows: data, next, isExtended: false, isBehind: false };
}

/** Adds a further page. A row that has moved since is shown once. */
export function withNext<T>(
  shown: ShownPages<T>,
  { data, next_cursor: next }: Page<T>,
  idOf: (row: T) => string,
): ShownPages<T> {
  const known = new Set(shown.rows.map(idOf));
  const rows = [...shown.rows, ...data.filter((row) => !known.has(idOf(row)))];
  return { ...shown, rows, next, isExtended: true };
}

/**
 * Merges a new read of the first page into the shown rows. New rows move older rows to later pages, so shown rows
 * after the end of the new first page are kept. Shown rows before its end that it no longer has are removed. When its
 * last row is not shown, rows between are missing: then the shown rows stay unchanged.
 */
export function withFirst<T>(
  shown: ShownPages<T>,
  first: Page<T>,
  idOf: (row: T) => string,
): ShownPages<T> {
  if (!shown.isExtended || first.next_cursor === null) return onlyFirst(first);
  const last = first.data.at(-1);
  const end = last === undefined ? "" : idOf(last);
  const at = shown.rows.findIndex((row) => idOf(row) === end);
  if (at < 0) return { ...shown, isBehind: true };
  const fresh = new Set(first.data.map(idOf));
  const rest = shown.rows.slice(at + 1).filter((row) => !fresh.has(idOf(row)));
  return { ...shown, rows: [...first.data, ...rest], isBehind: false };
}
