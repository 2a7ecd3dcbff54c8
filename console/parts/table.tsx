import type { ComponentChildren } from "preact";

/** A column: its heading and what it shows of a row. */
export type Column<T> = {
  readonly heading: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Left out on narrow screens. */
  readonly isMinor?: boolean;
};

/**
 * A table of one list. On a narrow screen each row becomes a card. Rows beyond the screen are not laid out until they
 * are near (`content-visibility`), so a list of many thousand rows scrolls smoothly.
 */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  hasMore = false,
  isLoadingMore = false,
  onMore,
}: {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly hasMore?: boolean;
  readonly isLoadingMore?: boolean;
  readonly onMore?: () => void;
}) {
  return (
    <div class="table">
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ heading, isNumber, isMinor }) => (
              <th key={heading} scope="col" class={classOf(isNumber, isMinor)}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ heading, cell, isNumber, isMinor }) => (
                <td key={heading} data-heading={heading} class={classOf(isNumber, isMinor)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {hasMore && (
        <button type="button" onClick={onMore} disabled={isLoadingMore}>
          {isLoadingMore ? "Loading…" : "Show more"}
        </button>
      )}
    </div>
  );
}

function classOf(isNumber = false, isMinor = false): string {
  return [isNumber ? "number" : "", isMinor ? "minor" : ""].filter(Boolean).join(" ");
}
