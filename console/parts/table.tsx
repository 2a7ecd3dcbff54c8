import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CHUNK_ROWS, chunksOf } from "../core/row-chunks.ts";
import { useFixedWidths } from "../core/use-fixed-widths.ts";
import { useNear } from "../core/use-near.ts";
import type { MoreRows } from "../core/use-pages.ts";

/** A column: its heading and what it shows of a row. */
export type Column<T> = {
  readonly heading: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Left out on narrow screens. */
  readonly isMinor?: boolean;
};

/** A table wider than its place scrolls by the arrow keys when it has the focus (WCAG 2.1.1). */
export function scrolling(label: string) {
  return { role: "group", tabIndex: 0, "aria-label": label } as const;
}

/**
 * A table of one list. On a narrow screen each row becomes a card. Rows are laid out in chunks: one that is far from
 * the screen is an empty space of its height, so a list of many thousand rows scrolls smoothly. The next page is
 * loaded when the end comes near.
 */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  hasMore = false,
  isLoadingMore = false,
  onMore,
  onNewest,
}: {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
} & MoreRows) {
  const chunks = chunksOf(rows);
  const isLong = chunks.length > 1;
  const table = useFixedWidths(isLong);
  return (
    <div class="table" {...scrolling(caption)}>
      {onNewest !== undefined && (
        <p class="banner">
          There is more that is new.{" "}
          <button type="button" class="small" onClick={onNewest}>
            Show the newest
          </button>
        </p>
      )}
      {/* A screen reader counts the rows that are not laid out too; −1: their number is not known. */}
      <table ref={table} {...(isLong ? { "aria-rowcount": hasMore ? -1 : rows.length + 1 } : {})}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr {...(isLong ? { "aria-rowindex": 1 } : {})}>
            {columns.map(({ heading, isNumber, isMinor }) => (
              <th key={heading} scope="col" class={classOf(isNumber, isMinor)}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        {chunks.map((chunk, at) => (
          <Chunk
            key={at}
            rows={chunk}
            columns={columns}
            keyOf={keyOf}
            from={at * CHUNK_ROWS}
            isLong={isLong}
          />
        ))}
      </table>
      {hasMore && <More isLoading={isLoadingMore} onMore={onMore} count={rows.length} />}
    </div>
  );
}

function Chunk<T>({
  rows,
  columns,
  keyOf,
  from,
  isLong,
}: {
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  readonly from: number;
  readonly isLong: boolean;
}) {
  const { ref, isNear, height } = useNear<HTMLTableSectionElement>(isLong);
  if (!isNear) {
    return (
      <tbody ref={ref} class="away" aria-hidden="true">
        <tr>
          <td colSpan={columns.length} style={{ height: `${height}px` }} />
        </tr>
      </tbody>
    );
  }
  return (
    <tbody ref={ref}>
      {rows.map((row, at) => (
        <tr key={keyOf(row)} {...(isLong ? { "aria-rowindex": from + at + 2 } : {})}>
          {columns.map(({ heading, cell, isNumber, isMinor }) => (
            <td key={heading} data-heading={heading} class={classOf(isNumber, isMinor)}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}

/** The next page: by itself when the end of the list comes near, and by a button. */
function More({
  isLoading,
  onMore,
  count,
}: {
  readonly isLoading: boolean;
  readonly onMore: (() => void) | undefined;
  readonly count: number;
}) {
  const end = useRef<HTMLDivElement>(null);
  const load = useRef(onMore);
  load.current = onMore;
  const isScrolled = useRef(false);
  // A page that was just opened loads no second page before it is scrolled.
  useEffect(() => {
    const note = () => {
      isScrolled.current = true;
    };
    addEventListener("scroll", note, { once: true, passive: true });
    return () => removeEventListener("scroll", note);
  }, []);
  useEffect(() => {
    if (isLoading || end.current === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting === true && isScrolled.current) load.current?.();
      },
      { rootMargin: "600px 0px" },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isLoading, count]);
  return (
    <div ref={end} class="more">
      <button type="button" onClick={onMore} disabled={isLoading}>
        {isLoading ? "Loading…" : "Show more"}
      </button>
    </div>
  );
}

function classOf(isNumber = false, isMinor = false): string {
  return [isNumber ? "number" : "", isMinor ? "minor" : ""].filter(Boolean).join(" ");
}
