import { useCallback, useState } from "preact/hooks";
import { ApiProblem } from "../api/http.ts";
import type { Page } from "../api/types.ts";
import { useResource } from "./use-resource.ts";

/** A list that grows page by page: the first page is asked again from time to time, the others are not. */
export function usePages<T extends object>(
  key: string,
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<T>>,
  everyMs = 0,
) {
  const first = useResource(key, (signal) => load(undefined, signal), everyMs);
  const [more, setMore] = useState<{ readonly key: string; readonly pages: readonly Page<T>[] }>({
    key,
    pages: [],
  });
  const [problem, setProblem] = useState<ApiProblem>();
  const [isLoadingMore, setLoadingMore] = useState(false);
  const pages = more.key === key ? more.pages : [];
  const last = pages.at(-1) ?? first.data;

  const loadMore = useCallback(async () => {
    const cursor = last?.next_cursor;
    if (cursor === null || cursor === undefined) return;
    setLoadingMore(true);
    try {
      const page = await load(cursor);
      setMore({ key, pages: [...pages, page] });
      setProblem(undefined);
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error);
    } finally {
      setLoadingMore(false);
    }
  }, [key, last, load, pages]);

  return {
    ...first,
    problem: first.problem ?? problem,
    rows: [...(first.data?.data ?? []), ...pages.flatMap(({ data }) => data)],
    hasMore: typeof last?.next_cursor === "string",
    isLoadingMore,
    loadMore,
  };
}
