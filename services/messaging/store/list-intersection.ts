/**
 * Pages of lists with two to four of the filters sender ID, recipient, reference and campaign. Each filter is a key
 * of the search index, and an index can read only one key in order. So the ids of every key are read in parallel,
 * newest first, in growing steps, from the index alone. In each step the key that reaches furthest back has the
 * fewest messages; only those of its ids that the other keys may have too are read as documents. A page therefore
 * costs about twice the messages of the rarest key, however many the others have (ADR 33).
 */
import type { Collection, Filter } from "mongodb";
import type { ListPage } from "../app/ports.ts";
import type { MessageDocument } from "./documents.ts";
import { createPage, READ_OPTIONS } from "./list-page.ts";
import { INDEXES } from "./schema.ts";

/** The most ids per key and step. A larger step costs more than it saves when the rarest key changes between steps. */
const STEP_MAX = 2000;
/** The most index keys read for one page, about 30 ms. A page that needs more is short, and the next one continues. */
const KEYS_MAX = 20_000;

/** The ids of one key down to `reach`, which is empty when these are all of them; newest first. */
type KeyIds = { readonly ids: ReadonlySet<string>; readonly reach: string };

/** Reads a page of the messages that have all keys; a short one only if `allowsShort`. */
export async function readIntersection(
  messages: Collection<MessageDocument>,
  query: Filter<MessageDocument>,
  keys: readonly string[],
  { size, allowsShort }: { readonly size: number; readonly allowsShort: boolean },
): Promise<ListPage> {
  const page = createPage(size);
  let beforeId: string | undefined;
  let read = 0;

  async function readIds(search: string, step: number): Promise<KeyIds> {
    const found = await messages
      .find({ ...query, search, ...below(query, beforeId) }, READ_OPTIONS)
      .project<{ _id: string }>({ _id: 1 })
      .sort({ _id: -1 })
      .limit(step)
      .batchSize(step)
      .hint(INDEXES.bySearch)
      .toArray();
    read += found.length;
    const reach = found.length < step ? "" : (found.at(-1)?._id ?? "");
    return { ids: new Set(found.map(({ _id }) => _id)), reach };
  }

  for (let step = size + 1; ; step = Math.min(2 * step, STEP_MAX)) {
    const steps = await Promise.all(keys.map((key) => readIds(key, step)));
    const rarest = steps.reduce((one, other) => (other.reach < one.reach ? other : one));
    const candidates = [...rarest.ids].filter((id) => steps.every((each) => mayHave(each, id)));
    const documents = messages
      .find({ ...query, search: { $all: [...keys] }, _id: { $in: candidates } }, READ_OPTIONS)
      .sort({ _id: -1 })
      .limit(page.room)
      .hint({ _id: 1 });
    if (candidates.length > 0 && (await page.fill(documents))) return page.result(true);
    beforeId = rarest.reach;
    if (beforeId === "") return page.result(false);
    if (read >= KEYS_MAX && (allowsShort || page.room <= size)) return page.result(true, beforeId);
  }
}

/** The query's range of ids, ended before an id. */
function below(
  { _id }: Filter<MessageDocument>,
  beforeId: string | undefined,
): Filter<MessageDocument> {
  return beforeId === undefined ? {} : { _id: { ...(_id as object), $lt: beforeId } };
}

/**
 * Whether the message with this id may have a key: its id was read under the key, or lies below the ids that were read.
 */
function mayHave({ ids, reach }: KeyIds, id: string): boolean {
  return id < reach || ids.has(id);
}
