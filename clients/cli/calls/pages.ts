import type { Row } from "../../../services/shared/cli/cell.ts";
import type { ListView } from "../../../services/shared/cli/output.ts";
import { PAGE_DEFAULT, PAGE_MAX } from "../../../services/shared/core/limits.ts";
import type { List } from "../../typescript/src/client.ts";
import type { CommandContext } from "../cli/command.ts";

type PageQuery = { readonly limit: number; readonly cursor?: string };

/** Shows up to `--limit` entries from `--cursor` on, and how to see the others. */
export async function showList(
  { options, output }: CommandContext,
  view: ListView,
  list: (page: PageQuery) => List<object>,
): Promise<undefined> {
  const limit = options.count("limit") ?? PAGE_DEFAULT;
  const rows: object[] = [];
  let cursor = options.named("cursor");
  do {
    const page = { limit: Math.min(PAGE_MAX, limit - rows.length) };
    const query = cursor === undefined ? page : { ...page, cursor };
    const { value } = await list(query).pages().next();
    rows.push(...(value?.data ?? []));
    cursor = value?.next_cursor ?? undefined;
  } while (cursor !== undefined && rows.length < limit);
  await output.list(rows as Row[], view);
  if (cursor !== undefined) output.more(`more: --cursor ${cursor}`);
}
