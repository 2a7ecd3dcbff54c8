/**
 * The newest messages of a busy tenant, from the index of ids. MongoDB keeps the key of every status that a message
 * has left for minutes, and a scan by status walks over all these keys: 30 ms of CPU for a page after 25,000 messages
 * (ADR 68, 174). The index of ids has no such keys, and many of the newest messages are a busy tenant's.
 */
import type { Collection, Filter } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import type { ListFilter, ListPage } from "../app/ports.ts";
import type { MessageDocument } from "./documents.ts";
import { createPage, READ_OPTIONS } from "./list-page.ts";

/**
 * Twice the time for which MongoDB keeps the keys of left statuses (`minSnapshotHistoryWindowInSeconds`, five minutes
 * unless set).
 */
const LEFT_KEYS_MS = 600_000;

/**
 * Documents read for each one that the page shows. A tenant with a smaller share of the newest messages has few keys
 * of left statuses, so a scan by status is fast for it.
 */
const READ_PER_SHOWN = 4;

/**
 * Whether a page may show messages that have left a status a short time ago. One status has its own scan; a number and
 * a reference have few messages.
 */
export function isRecent(filter: ListFilter, nowMs: number): boolean {
  const { statuses, to, clientReference, createdBeforeMs = nowMs, beforeId } = filter;
  if (statuses.length > 0 || to !== undefined || clientReference !== undefined) return false;
  const sinceMs = nowMs - LEFT_KEYS_MS;
  // A cursor may hold an instant beyond any clock, so ids are compared as texts.
  return (
    createdBeforeMs > sinceMs &&
    (beforeId === undefined || beforeId > lowestIdAt("message", sinceMs))
  );
}

/** Reads the page if the newest messages of all tenants fill it; otherwise undefined. */
export async function readRecent(
  messages: Collection<MessageDocument>,
  { _id, ...query }: Filter<MessageDocument>,
  size: number,
): Promise<ListPage | undefined> {
  const page = createPage(size);
  const documents = messages.aggregate<MessageDocument>(
    [
      ...(_id === undefined ? [] : [{ $match: { _id } }]),
      { $sort: { _id: -1 } },
      { $limit: READ_PER_SHOWN * page.room },
      { $match: query },
      { $limit: page.room },
    ],
    { ...READ_OPTIONS, hint: { _id: 1 } },
  );
  return (await page.fill(documents)) ? page.result(true) : undefined;
}
