import type { Collection, Db, Filter } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES, type MessageStatus } from "../../shared/core/message-status.ts";
import { guardMongo, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { ListFilter, ListPage, MessageLists } from "../app/ports.ts";
import { MESSAGE_MODES } from "../domain/message.ts";
import { type MessageDocument, SEARCH } from "./documents.ts";
import { readIntersection } from "./list-intersection.ts";
import { createPage, READ_OPTIONS } from "./list-page.ts";
import { isRecent, readRecent } from "./recent-page.ts";
import { INDEXES, RARE_STATUSES } from "./schema.ts";

export function createMessageLists(db: Db): MessageLists {
  const messages: Collection<MessageDocument> = db.collection("messages");

  async function read(filter: ListFilter, size: number, allowsShort: boolean): Promise<ListPage> {
    const [search, ...others] = searchKeys(filter);
    const withoutSearch = listQuery(filter);
    if (search !== undefined && others.length > 0) {
      const keys = [search, ...others];
      return readIntersection(messages, withoutSearch, keys, { size, allowsShort });
    }
    const query = search === undefined ? withoutSearch : { ...withoutSearch, search };
    const recent = isRecent(filter, Date.now())
      ? await readRecent(messages, query, size)
      : undefined;
    const areRare = filter.statuses.length > 0 && filter.statuses.every(isRare);
    const index = search !== undefined ? "bySearch" : areRare ? "byRareStatus" : "byKind";
    return recent ?? readInOrder(messages, query, INDEXES[index], size);
  }

  return {
    async page(filter, size, { allowsShort }) {
      try {
        return await read(filter, size, allowsShort);
      } catch (error) {
        throw wrapMongoError(error);
      }
    },
    async tenantsAfter(tenantId, limit) {
      const found: string[] = [];
      let last = tenantId;
      while (found.length < limit) {
        // One seek per tenant: the index begins with the tenant's id.
        const next = await guardMongo(
          messages.findOne(
            { tenant_id: { $gt: last } },
            { projection: { _id: 0, tenant_id: 1 }, sort: { tenant_id: 1 }, hint: INDEXES.byKind },
          ),
        );
        if (next === null) break;
        last = next.tenant_id;
        found.push(last);
      }
      return found;
    },
  };
}

function isRare(status: MessageStatus): boolean {
  return RARE_STATUSES.includes(status);
}

/** Reads a page from the index that has the filters and the order, and no more than it shows. */
async function readInOrder(
  messages: Collection<MessageDocument>,
  query: Filter<MessageDocument>,
  index: string,
  size: number,
): Promise<ListPage> {
  const page = createPage(size);
  const documents = messages
    .find(query, READ_OPTIONS)
    .sort({ _id: -1 })
    .limit(page.room)
    .batchSize(page.room)
    .hint(index);
  return page.result(await page.fill(documents));
}

/** The query of a list without its search keys. */
function listQuery(filter: ListFilter): Filter<MessageDocument> {
  const { statuses, sources } = filter;
  const range = idRange(filter);
  return {
    tenant_id: filter.tenantId,
    mode: filter.mode ?? { $in: [...MESSAGE_MODES] },
    // With every value listed, MongoDB merges one ordered index scan per value.
    status: { $in: [...(statuses.length > 0 ? statuses : MESSAGE_STATUSES)] },
    source: { $in: [...(sources.length > 0 ? sources : MESSAGE_SOURCES)] },
    ...(range === undefined ? {} : { _id: range }),
  };
}

/** The key of each filter that has one. */
function searchKeys({ to, clientReference, campaignId, from }: ListFilter): string[] {
  return [
    ...(to === undefined ? [] : [SEARCH.to(to)]),
    ...(clientReference === undefined ? [] : [SEARCH.reference(clientReference)]),
    ...(campaignId === undefined ? [] : [SEARCH.campaign(campaignId)]),
    ...(from === undefined ? [] : [SEARCH.from(from)]),
  ];
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
