import type { Collection, Db, Filter, FindCursor } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES } from "../../shared/core/message-status.ts";
import { wrapMongoError } from "../../shared/io/mongo-errors.ts";
import { SNAPSHOT } from "../../shared/io/snapshot.ts";
import type { ListFilter, MessageLists } from "../app/ports.ts";
import { MESSAGE_MODES, type Message } from "../domain/message.ts";
import { fromDocument, type MessageDocument, SEARCH } from "./documents.ts";
import { INDEXES } from "./schema.ts";

/** A slower page is aborted, so that it does not slow other requests. */
const PAGE_TIME_MAX_MS = 5000;

export function createMessageLists(db: Db): MessageLists {
  const messages: Collection<MessageDocument> = db.collection("messages");
  return {
    async page(filter, size) {
      try {
        return await readPage(listCursor(messages, filter, size + 1), size);
      } catch (error) {
        throw wrapMongoError(error);
      }
    },
  };
}

/**
 * Text per page without its first message, in bytes of UTF-8 at worst. A rejected recipient or batch item is stored
 * as given, which can be megabytes; a hundred of them exceed the limits of a response.
 */
const PAGE_TEXT_MAX = 3 * 1024 * 1024;

async function readPage(
  cursor: FindCursor<MessageDocument>,
  size: number,
): Promise<{ messages: Message[]; hasMore: boolean }> {
  const page: Message[] = [];
  let textBytes = 0;
  for await (const document of cursor) {
    textBytes += 3 * (document.body.length + document.to.length);
    const isFull = page.length === size || (page.length > 0 && textBytes > PAGE_TEXT_MAX);
    if (isFull) return { messages: page, hasMore: true };
    page.push(fromDocument(document));
  }
  return { messages: page, hasMore: false };
}

/** The cursor behind a page; exported so that a test can read its plan. */
export function listCursor(
  messages: Collection<MessageDocument>,
  filter: ListFilter,
  limit: number,
): FindCursor<MessageDocument> {
  const { query, hint } = planList(filter);
  return messages
    .find(query, { maxTimeMS: PAGE_TIME_MAX_MS, readConcern: SNAPSHOT })
    .sort({ _id: -1 })
    .limit(limit)
    .batchSize(limit)
    .hint(hint);
}

/** The query of a list, and the index that serves it: the most selective filter names it. */
export function planList(filter: ListFilter): { query: Filter<MessageDocument>; hint: string } {
  const query: Filter<MessageDocument> = {
    tenant_id: filter.tenantId,
    mode: filter.mode ?? { $in: [...MESSAGE_MODES] },
  };
  const range = idRange(filter);
  if (range !== undefined) query._id = range;
  const { statuses, sources } = filter;
  if (statuses.length > 0) query.status = { $in: [...statuses] };
  if (sources.length > 0) query.source = { $in: [...sources] };
  if (filter.to !== undefined) query.to = filter.to;
  if (filter.clientReference !== undefined) query.client_reference = filter.clientReference;
  if (filter.campaignId !== undefined) query.campaign_id = filter.campaignId;
  // With every value listed, MongoDB merges one ordered index scan per value.
  query.status ??= { $in: [...MESSAGE_STATUSES] };
  query.source ??= { $in: [...MESSAGE_SOURCES] };
  const { from } = filter;
  const key = searchKey(filter);
  if (key === undefined) return { query, hint: INDEXES.byKind };
  query.search = key;
  // Inside an expression the sender ID filters the results of the key and is no index bound.
  const isKeyed = from !== undefined && key !== SEARCH.from(from);
  if (isKeyed) query.$expr = { $in: [SEARCH.from(from), "$search"] };
  return { query, hint: INDEXES.bySearch };
}

/** The key of the filter that the fewest messages can match. */
function searchKey(filter: ListFilter): string | undefined {
  const { to, clientReference, campaignId, from } = filter;
  if (to !== undefined) return SEARCH.to(to);
  if (clientReference !== undefined) return SEARCH.reference(clientReference);
  if (campaignId !== undefined) return SEARCH.campaign(campaignId);
  return from === undefined ? undefined : SEARCH.from(from);
}

function idRange(filter: ListFilter): Record<string, string> | undefined {
  const range: Record<string, string> = {};
  if (filter.createdAfterMs !== undefined) {
    range.$gte = lowestIdAt("message", filter.createdAfterMs);
  }
  const beforeMs = filter.createdBeforeMs;
  if (beforeMs !== undefined) range.$lt = lowestIdAt("message", beforeMs);
  const { beforeId } = filter;
  if (beforeId !== undefined && (range.$lt === undefined || beforeId < range.$lt)) {
    range.$lt = beforeId;
  }
  return Object.keys(range).length === 0 ? undefined : range;
}
