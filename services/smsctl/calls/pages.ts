import { AppError } from "../../shared/core/errors.ts";
import type { Options } from "../cli/options.ts";

/** The largest page of most services. */
const PAGE_MAX = 1000;

/** At most `limit` items after `cursor`. */
export type PageRequest = { readonly limit: number; readonly cursor: string };

/** The next cursor of lists that continue after the last id. */
export function cursorAfter(items: readonly { readonly id: string }[], hasMore: boolean): string {
  return hasMore ? (items.at(-1)?.id ?? "") : "";
}

/**
 * Reads pages from `--cursor` until it has `--limit` items. Returns them with the next cursor, "" at the
 * end of the list.
 */
export async function readUpToLimit<T>(
  options: Options,
  limitDefault: number,
  readPage: (wish: PageRequest) => Promise<{ items: readonly T[]; nextCursor: string }>,
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
