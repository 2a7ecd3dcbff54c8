import type { Collection, Db, Filter } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES } from "../../shared/core/message-status.ts";
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
    const keys = searchKeys(filter);
    const query = listQuery(filter);
    if (keys.length > 1) return readIntersection(messages, query, keys, { size, allowsShort });
    const [search] = keys;
    const whole = search === undefined ? query : { ...query, search };
    const recent = isRecent(filter, Date.now())
      ? await readRecent(messages, whole, size)
      : undefined;
    return recent ?? readInOrder(messages, whole, indexOf(filter, search), size);
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

/** The index that has the filters and the order. */
function indexOf({ statuses }: ListFilter, search: string | undefined): string {
  if (search !== undefined) return INDEXES.bySearch;
  const areRare = statuses.length > 0 && statuses.every((one) => RARE_STATUSES.includes(one));
  return areRare ? INDEXES.byRareStatus : INDEXES.byKind;
}

/** Reads a page in the order of an index: at most one document more than the page, which shows that others follow. */
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
