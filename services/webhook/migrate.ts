import type { Db } from "mongodb";
import { AUDIT } from "../shared/io/audit-log.ts";
import { DEAD_LETTERS } from "../shared/io/dead-letters.ts";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";
import { IS_PENDING, QUEUE_INDEX } from "./store/queue.ts";

const ENDPOINTS: CollectionShape = {
  name: "endpoints",
  indexes: [{ name: "tenant_slot", key: { tenant_id: 1, slot: 1 }, unique: true }],
  validator: {
    bsonType: "object",
    required: ["tenant_id", "slot", "url", "status", "event_types", "secrets", "enabled_at"],
    properties: {
      _id: { bsonType: "string", pattern: "^whe_" },
      tenant_id: { bsonType: "string" },
      mode: { enum: ["live", "test"] },
      slot: { bsonType: ["int", "long"], minimum: 0, maximum: 9 },
      url: { bsonType: "string", pattern: "^[hH][tT][tT][pP][sS]://" },
      status: { enum: ["enabled", "disabled"] },
      event_types: { bsonType: "array", minItems: 1, items: { bsonType: "string" } },
      sources: { bsonType: "array", items: { bsonType: "string" } },
      secrets: {
        bsonType: "array",
        minItems: 1,
        items: { bsonType: "object", required: ["sealed", "created_at", "expires_at"] },
      },
      enabled_at: { bsonType: "date" },
    },
  },
};

const DELIVERIES: CollectionShape = {
  name: "deliveries",
  indexes: [
    {
      name: QUEUE_INDEX,
      key: { endpoint_id: 1, next_attempt_at: 1 },
      partialFilterExpression: { next_attempt_at: IS_PENDING },
    },
    { name: "endpoint_log", key: { endpoint_id: 1, _id: -1 } },
    {
      name: "endpoint_failed",
      key: { endpoint_id: 1, completed_at: 1 },
      partialFilterExpression: { status: "failed" },
    },
    {
      name: "message",
      key: { message_id: 1 },
      partialFilterExpression: { message_id: { $exists: true } },
    },
    { name: "retention", key: { expires_at: 1 }, expireAfterSeconds: 0 },
  ],
  validator: {
    bsonType: "object",
    required: ["tenant_id", "endpoint_id", "event_id", "event_type", "status", "expires_at"],
    properties: {
      _id: { bsonType: "string", pattern: "^whd_" },
      status: { enum: ["pending", "succeeded", "failed", "dropped"] },
      body: { bsonType: "string" },
      next_attempt_at: { bsonType: "date" },
      attempts: { bsonType: "array", maxItems: 50 },
      attempts_left: { bsonType: ["int", "long"], minimum: 0 },
    },
    // A delivery has a due time exactly while it is pending, so it can neither stall nor revive.
    oneOf: [
      { properties: { status: { enum: ["pending"] } }, required: ["next_attempt_at"] },
      {
        properties: { status: { enum: ["succeeded", "failed", "dropped"] } },
        not: { required: ["next_attempt_at"] },
      },
    ],
  },
};

const IDEMPOTENCY: CollectionShape = {
  name: "idempotency",
  indexes: [{ name: "kept", key: { expires_at: 1 }, expireAfterSeconds: 0 }],
};

const IDEMPOTENCY_LOCKS: CollectionShape = {
  name: "fences",
  indexes: [{ name: "until", key: { until: 1 }, expireAfterSeconds: 0 }],
};

/** Creates or updates collections, indexes and validators. Idempotent. */
export async function migrate(db: Db): Promise<void> {
  await shapeCollections(db, [
    ENDPOINTS,
    DELIVERIES,
    IDEMPOTENCY,
    IDEMPOTENCY_LOCKS,
    DEAD_LETTERS,
    AUDIT,
  ]);
}
