import type { Options } from "../../shared/cli/options.ts";
import { AppError } from "../../shared/core/errors.ts";

/** The largest page of most services. */
const PAGE_MAX = 1000;

/** At most `limit` items after `cursor`. */
export type PageRequest = { readonly limit: number; readonly cursor: string };

/** The next cursor of lists that continue after the last id. */
export function cursorAfter(items: readonly { readonly id: string }[], hasMore: boolean): string {
  return hasMore ? (items.at(-1)?.id ?? "") : "";
}

/** A page of a list. */
type Page<T> = { readonly items: readonly T[]; readonly nextCursor: string };

/** Merges a page of each of several lists. Every list is ordered by id, so one cursor fits all. */
export function mergePages<T extends { readonly id: string }>(
  pages: readonly Page<T>[],
  { limit, newestFirst = false }: { readonly limit: number; readonly newestFirst?: boolean },
): Page<T> {
  const order = newestFirst ? -1 : 1;
  const found = pages
    .flatMap(({ items }) => items)
    .sort((one, other) => (one.id < other.id ? -order : order));
  const items = found.slice(0, limit);
  const hasMore = found.length > limit || pages.some(({ nextCursor }) => nextCursor !== "");
  return { items, nextCursor: cursorAfter(items, hasMore) };
}

/**
 * Reads pages from `--cursor` until it has `--limit` items. Returns them with the next cursor, "" at the
 * end of the list.
 */
export async function readUpToLimit<T>(
  options: Options,
  limitDefault: number,
  readPage: (wish: PageRequest) => Promise<Page<T>>,
  pageMax = PAGE_MAX,
): Promise<{ items: T[]; nextCursor: string }> {
  const limit = options.whole("limit") ?? limitDefault;
  if (limit === 0) throw new AppError("validation_error", "--limit must be at least 1.");
  const items: T[] = [];
  let cursor = options.optional("cursor") ?? "";
  do {
    const page = await readPage({ limit: Math.min(pageMax, limit - items.length), cursor });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== "" && items.length < limit);
  return { items, nextCursor: cursor };
}
