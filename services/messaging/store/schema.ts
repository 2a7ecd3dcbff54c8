import type { Document } from "mongodb";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES, type MessageStatus } from "../../shared/core/message-status.ts";
import { AUDIT } from "../../shared/io/audit-log.ts";
import type { CollectionShape } from "../../shared/io/migration.ts";
import { MESSAGE_MODES } from "../domain/message.ts";

/** Names of the indexes for query hints. */
export const INDEXES = {
  byKind: "tenant_mode_source_status_id",
  byRareStatus: "tenant_mode_source_rare_status_id",
  bySearch: "tenant_mode_search_source_status_id",
  queue: "queue_tenant_id_not_before",
  due: "due_at",
  quiet: "quiet_until_tenant_id",
  idempotency: "idem",
} as const;

/** The statuses that a message which is delivered at once never has. */
export const RARE_STATUSES: readonly MessageStatus[] = MESSAGE_STATUSES.filter(
  (status) => status !== "queued" && status !== "sent" && status !== "delivered",
);

const STRING: Document = { bsonType: "string" };

const MESSAGES: CollectionShape = {
  name: "messages",
  indexes: [
    {
      // Serves the unfiltered list too: sources and statuses are few, so MongoDB merges one
      // ordered scan of each instead of needing an index of its own.
      key: { tenant_id: 1, mode: 1, source: 1, status: 1, _id: 1 },
      name: INDEXES.byKind,
    },
    {
      // A separate index for rare statuses: MongoDB keeps the keys of statuses that nearly all messages leave for
      // minutes, and a scan of an empty status would walk over the keys of a neighbouring status (ADR 174).
      key: { tenant_id: 1, mode: 1, source: 1, status: 1, _id: 1 },
      name: INDEXES.byRareStatus,
      partialFilterExpression: { status: { $in: RARE_STATUSES } },
    },
    {
      // Sender ID, recipient, reference and campaign in one array, because each status change rewrites the keys of
      // every index. Source and status are in it so that a page with both kinds of filter reads only its results.
      key: { tenant_id: 1, mode: 1, search: 1, source: 1, status: 1, _id: 1 },
      name: INDEXES.bySearch,
    },
    {
      key: { queue: 1, tenant_id: 1, _id: 1, not_before: 1 },
      name: INDEXES.queue,
      partialFilterExpression: { queue: { $exists: true } },
    },
    {
      key: { due_at: 1 },
      name: INDEXES.due,
      partialFilterExpression: { due_at: { $exists: true } },
    },
    {
      // Separate from `due_at`, so that a country's messages, which all become due at once, never hide other due ones.
      key: { quiet_until: 1, tenant_id: 1, _id: 1 },
      name: INDEXES.quiet,
      partialFilterExpression: { quiet_until: { $exists: true } },
    },
  ],
  validator: {
    bsonType: "object",
    required: ["tenant_id", "mode", "source", "status", "held", "history", "revision"],
    properties: {
      tenant_id: STRING,
      mode: { enum: [...MESSAGE_MODES] },
      source: { enum: [...MESSAGE_SOURCES] },
      status: { enum: [...MESSAGE_STATUSES] },
      held: { bsonType: "long", minimum: 0 },
      amount: { bsonType: "long", minimum: 0 },
      history: { bsonType: "array", minItems: 1 },
    },
  },
};

const SENDS: CollectionShape = {
  name: "sends",
  indexes: [
    {
      key: { idem: 1 },
      name: INDEXES.idempotency,
      unique: true,
      partialFilterExpression: { idem: { $exists: true } },
    },
  ],
  validator: {
    bsonType: "object",
    required: ["created_at"],
    properties: { tenant_id: STRING, idem: STRING, fenced: { enum: [true] } },
  },
};

const FENCES: CollectionShape = {
  name: "fences",
  indexes: [{ key: { until: 1 }, name: "until", expireAfterSeconds: 0 }],
};

/**
 * Changes that are not in the counts (`usage`) yet. A fold reads the oldest ones by `_id`, so no other index is needed.
 */
const USAGE_CHANGES: CollectionShape = { name: "usage_changes", indexes: [] };

const USAGE: CollectionShape = {
  name: "usage",
  indexes: [
    { key: { tenant_id: 1, mode: 1, at: 1 }, name: "tenant_mode_at" },
    { key: { expires_at: 1 }, name: "expires_at", expireAfterSeconds: 0 },
  ],
};

/** The collections of this service, without the outbox. */
export const COLLECTIONS: readonly CollectionShape[] = [
  MESSAGES,
  SENDS,
  FENCES,
  { name: "carriers", indexes: [] },
  USAGE_CHANGES,
  USAGE,
  AUDIT,
];
