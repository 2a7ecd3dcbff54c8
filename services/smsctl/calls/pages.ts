import { AppError } from "../../shared/core/errors.ts";
import type { Options } from "../cli/options.ts";

/** Most items that most services answer in one page. */
const PAGE_MAX = 1000;

/** What a list was asked for: how many at most, and after which place. */
export type PageWish = { readonly limit: number; readonly cursor: string };

/** Where the page after this one begins, in lists that go on by the last id. */
export function cursorAfter(items: readonly { readonly id: string }[], hasMore: boolean): string {
  return hasMore ? (items.at(-1)?.id ?? "") : "";
}

/**
 * Reads page after page until `--limit` items are there, beginning at `--cursor`; answers them, and where
 * the next ones begin ("" when there are no more). The services answer at most a page however many
 * are asked for.
 */
export async function readUpToLimit<T>(
  options: Options,
  limitDefault: number,
  readPage: (wish: PageWish) => Promise<{ items: readonly T[]; nextCursor: string }>,
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
