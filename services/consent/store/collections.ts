import { AUDIT } from "../../shared/io/audit-log.ts";
import type { CollectionShape } from "../../shared/io/migration.ts";

/** The unique key that refuses repeats. */
export const REPEAT_INDEX = "repeat_key";

/** The collections of this service, without the outbox. */
export const COLLECTIONS: readonly CollectionShape[] = [
  AUDIT,
  {
    name: "inbound",
    indexes: [
      { key: { tenant_id: 1, _id: -1 }, name: "tenant_id" },
      { key: { tenant_id: 1, from: 1, _id: -1 }, name: "tenant_from_id" },
      { key: { tenant_id: 1, to: 1, _id: -1 }, name: "tenant_to_id" },
      {
        // While `repeat_key` is set, a message with this key is a repeat.
        key: { repeat_key: 1 },
        name: REPEAT_INDEX,
        unique: true,
        partialFilterExpression: { repeat_key: { $exists: true } },
      },
      { key: { expires_at: 1 }, name: "expires_at", expireAfterSeconds: 0 },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "from", "to", "body", "received_at"],
      properties: { _id: { bsonType: "string", pattern: "^inb_" } },
    },
  },
  {
    name: "inbound_parts",
    indexes: [
      {
        key: { due_at: 1 },
        name: "due_at",
        partialFilterExpression: { due_at: { $exists: true } },
      },
      { key: { expires_at: 1 }, name: "expires_at", expireAfterSeconds: 0 },
    ],
  },
  {
    name: "consents",
    indexes: [{ key: { tenant_id: 1, is_out: 1, _id: 1 }, name: "tenant_out_id" }],
    validator: {
      bsonType: "object",
      required: ["_id", "tenant_id", "number", "sender", "is_out", "at"],
      properties: { number: { bsonType: "string", pattern: "^\\+" } },
    },
  },
  { name: "versions", indexes: [] },
  {
    name: "inbound_numbers",
    indexes: [
      { key: { number: 1, keyword: 1 }, name: "number_keyword", unique: true },
      { key: { tenant_id: 1 }, name: "tenant_id" },
    ],
  },
  { name: "keywords", indexes: [] },
  { name: "replies", indexes: [{ key: { created_at: 1 }, name: "created_at" }] },
  {
    name: "replied",
    indexes: [{ key: { expires_at: 1 }, name: "expires_at", expireAfterSeconds: 0 }],
  },
];
