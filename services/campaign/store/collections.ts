import { CAMPAIGN_STATUSES } from "../../shared/core/campaign-status.ts";
import { AUDIT } from "../../shared/io/audit-log.ts";
import { KEYED_ANSWER_SHAPES } from "../../shared/io/keyed-answers.ts";
import type { CollectionShape } from "../../shared/io/migration.ts";

/** Names of the indexes for query hints. */
export const INDEXES = {
  tenant: "tenant_mode_status_id",
  work: "work",
  byIndex: "campaign_index",
  byStatus: "campaign_statuses_group",
} as const;

/** The collections of this service, without the outbox. */
export const COLLECTIONS: readonly CollectionShape[] = [
  {
    name: "campaigns",
    indexes: [
      { key: { tenant_id: 1, mode: 1, status: 1, _id: -1 }, name: INDEXES.tenant },
      {
        // Campaigns that a feeder, or a sweep, has something to do for.
        key: { work: 1 },
        name: INDEXES.work,
        partialFilterExpression: { work: { $exists: true } },
      },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "tenant_id", "mode", "status", "progress"],
      properties: {
        _id: { bsonType: "string", pattern: "^cmp_" },
        tenant_id: { bsonType: "string", pattern: "^ten_" },
        mode: { enum: ["live", "test"] },
        status: { enum: [...CAMPAIGN_STATUSES] },
      },
    },
  },
  {
    name: "rows",
    indexes: [{ key: { campaign_id: 1, index: 1 }, name: INDEXES.byIndex, unique: true }],
    validator: {
      bsonType: "object",
      required: ["_id", "campaign_id", "index", "to"],
      properties: { to: { bsonType: "string", pattern: "^\\+" } },
    },
  },
  {
    name: "row_states",
    indexes: [{ key: { campaign_id: 1, statuses: 1, group: 1 }, name: INDEXES.byStatus }],
  },
  { name: "chunks", indexes: [] },
  { name: "discarded_row_sets", indexes: [] },
  AUDIT,
  { name: "tenants", indexes: [] },
  ...KEYED_ANSWER_SHAPES,
];
