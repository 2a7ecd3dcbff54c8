import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiProblem } from "../api/http.ts";
import type { Page } from "../api/types.ts";
import { onlyFirst, type ShownPages, withFirst, withNext } from "./merge-pages.ts";
import { useResource } from "./use-resource.ts";

/** The rows of a list that are not shown yet. */
export type MoreRows = {
  readonly hasMore?: boolean;
  readonly isLoadingMore?: boolean;
  readonly onMore?: () => void;
  /** Present when more than a page of new rows has come since the first page was shown. */
  readonly onNewest?: (() => void) | undefined;
};

/** A list that grows page by page. Its first page is asked for every `everyMs` and taken into the shown rows. */
export function usePages<T extends object>(
  key: string,
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<T>>,
  everyMs = 0,
  idOf: (row: T) => string = ownId,
) {
  const first = useResource(key, (signal) => load(undefined, signal), everyMs);
  const [shown, setShown] = useState<{ readonly key: string; readonly pages: ShownPages<T> }>();
  const [problem, setProblem] = useState<ApiProblem>();
  const [isLoadingMore, setLoadingMore] = useState(false);

  useEffect(() => {
    const page = first.data;
    if (page === undefined) return;
    setShown((before) => ({
      key,
      pages: before?.key === key ? withFirst(before.pages, page, idOf) : onlyFirst(page),
    }));
  }, [key, first.data]);

  const own = shown?.key === key ? shown.pages : first.data && onlyFirst(first.data);
  const next = own?.next ?? null;

  const loadMore = useCallback(async () => {
    if (next === null || isLoadingMore) return;
    setLoadingMore(true);
    try {
      const page = await load(next);
      setShown((before) =>
        // The filter may have changed while the page was loaded.
        before?.key === key && before.pages.next === next
          ? { key, pages: withNext(before.pages, page, idOf) }
          : before,
      );
      setProblem(undefined);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error);
    } finally {
      setLoadingMore(false);
    }
  }, [key, next, load, isLoadingMore]);

  /** Returns to the first page, with the newest rows. */
  const showNewest = useCallback(() => {
    setShown(undefined);
    first.reload();
  }, [first.reload]);

  return {
    ...first,
    problem: first.problem ?? problem,
    rows: own?.rows ?? [],
    /** For the table of the rows. */
    more: {
      hasMore: next !== null,
      isLoadingMore,
      onMore: () => void loadMore(),
      onNewest: own?.isBehind === true ? showNewest : undefined,
    } satisfies MoreRows,
  };
}

function ownId(row: object): string {
  return String((row as { readonly id?: string }).id);
}
