import type { Filter } from "mongodb";
import type { StatementQuery } from "../app/ports.ts";
import type { EntryKind } from "../domain/account.ts";
import { type Entry, entriesOf } from "../domain/entry.ts";
import type { Collections } from "./collections.ts";
import { type BatchDocument, toBatch } from "./documents.ts";

/** Names of indexes in `migrate.ts`. */
const STATEMENT_INDEX = "statement";
const RARE_INDEX = "fundings";
const CAMPAIGN_INDEX = "campaigns";

/** Batches with these kinds have references (`fromBatch`), and an index of their own. */
const REFERENCED: ReadonlySet<EntryKind> = new Set(["fund", "adjust"]);

/** Time limit of a page. A rare kind in a long ledger may need longer; the caller then gets 503. */
const READ_MAX_MS = 8000;

/**
 * Reads a statement page, newest first. Dates of a wallet's batches rise with their sequence, so a
 * time range is a range of batches.
 */
export async function listStatement(
  { entries }: Collections,
  query: StatementQuery,
): Promise<Entry[]> {
  const { tenantId, fromMs, toMs, kinds, campaignId, limit, before } = query;
  const filter: Filter<BatchDocument> = { tenant_id: tenantId };
  if (before !== undefined) filter.sequence = { $lte: before.sequence };
  // The index is ordered by date. Without this upper bound the query would scan every newer batch.
  const newest =
    before === undefined ? undefined : await dateOf(entries, tenantId, before.sequence);
  if (fromMs > 0 || toMs > 0 || newest !== undefined) {
    filter.created_at = {
      ...(fromMs > 0 ? { $gte: new Date(fromMs) } : {}),
      ...(toMs > 0 ? { $lt: new Date(toMs) } : {}),
      ...(newest === undefined ? {} : { $lte: newest }),
    };
  }
  if (kinds.length > 0) filter.kinds = { $in: [...kinds] };
  const isRare = kinds.length > 0 && kinds.every((kind) => REFERENCED.has(kind));
  // No funding or adjustment is of a campaign: with a campaign the page is empty.
  if (isRare) filter.references = { $exists: true };
  if (campaignId !== "") filter.campaign_ids = campaignId;
  const isWanted = (entry: Entry) =>
    (kinds.length === 0 || kinds.includes(entry.kind)) &&
    (campaignId === "" || entry.campaignId === campaignId) &&
    (before === undefined || entry.sequence < before.sequence || entry.position < before.position);

  const page: Entry[] = [];
  const cursor = entries
    .find(filter, {
      ...{ batchSize: 20, maxTimeMS: READ_MAX_MS },
      // Another index would read every batch of other entries in between.
      hint: indexOf(campaignId, isRare),
    })
    .sort({ tenant_id: 1, created_at: -1, sequence: -1 });
  try {
    for await (const document of cursor) {
      for (const entry of entriesOf(toBatch(document)).reverse()) {
        if (!isWanted(entry)) continue;
        page.push(entry);
        if (page.length === limit) return page;
      }
    }
  } finally {
    await cursor.close();
  }
  return page;
}

function indexOf(campaignId: string, isRare: boolean): string {
  if (campaignId !== "") return CAMPAIGN_INDEX;
  return isRare ? RARE_INDEX : STATEMENT_INDEX;
}

async function dateOf(
  entries: Collections["entries"],
  tenant_id: string,
  sequence: number,
): Promise<Date | undefined> {
  const options = { projection: { created_at: 1 } };
  return (await entries.findOne({ tenant_id, sequence }, options))?.created_at;
}
