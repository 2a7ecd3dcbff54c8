import type { Db } from "mongodb";
import { AUDIT } from "../shared/io/audit-log.ts";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";

const SHAPES: readonly CollectionShape[] = [
  {
    name: "tenants",
    indexes: [{ key: { name: 1 }, name: "name", unique: true }],
    validator: {
      bsonType: "object",
      required: ["_id", "name", "suspended", "email_verified", "rate_limit", "burst", "version"],
      properties: {
        _id: { bsonType: "string", pattern: "^ten_" },
        name: { bsonType: "string", maxLength: 100 },
        suspended: { bsonType: "bool" },
        email_verified: { bsonType: "bool" },
      },
    },
  },
  {
    name: "api_keys",
    indexes: [
      { key: { hash: 1 }, name: "hash", unique: true },
      { key: { tenant_id: 1, _id: 1 }, name: "tenant" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "tenant_id", "hash", "mode", "scopes"],
      properties: {
        _id: { bsonType: "string", pattern: "^key_" },
        hash: { bsonType: "binData" },
        mode: { enum: ["live", "test"] },
      },
    },
  },
];

/** Creates or updates collections, indexes and validators. Idempotent. */
export function migrate(db: Db): Promise<void> {
  return shapeCollections(db, [...SHAPES, AUDIT]);
}
