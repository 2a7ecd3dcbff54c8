import type { Caller, CallOptions, RequestParts } from "./call.ts";
import type { OperationId } from "./generated/operations.ts";

/** One page. It may have fewer entries than `limit`, or none, although more follow; `next_cursor` null is the end. */
export type Page<Entry> = {
  readonly data: readonly Entry[];
  readonly next_cursor: string | null;
};

/** A list, read page by page while you iterate. Each iteration begins at the first page. */
export type List<Entry> = AsyncIterable<Entry> & {
  /** The pages; a page's `next_cursor` is the `cursor` of a later call that continues there. */
  readonly pages: () => AsyncGenerator<Page<Entry>, void, undefined>;
};

/** Creates the list of an operation. */
export function createList<Entry>(
  call: Caller,
  operation: OperationId,
  parts: RequestParts,
  options: CallOptions,
): List<Entry> {
  async function* pages(): AsyncGenerator<Page<Entry>, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const query = cursor === undefined ? parts.query : { ...parts.query, cursor };
      const { text } = await call(
        operation,
        query === undefined ? parts : { ...parts, query },
        options,
      );
      const page = JSON.parse(text) as Page<Entry>;
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data;
    },
  };
}

/** Reads a list as CSV files, one text per page; each has a header row. */
export async function* csvPages(
  call: Caller,
  operation: OperationId,
  parts: RequestParts,
  options: CallOptions,
): AsyncGenerator<string> {
  let query = parts.query;
  for (;;) {
    const request = { ...parts, accept: "text/csv" };
    const { text, headers } = await call(
      operation,
      query === undefined ? request : { ...request, query },
      options,
    );
    yield text;
    // RFC 8288: `</v1/…?cursor=…>; rel="next"`.
    const next = /<([^>]*)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
    if (next === undefined) return;
    const cursor = new URL(next, "http://any.invalid").searchParams.get("cursor");
    query = { ...parts.query, cursor };
  }
}
