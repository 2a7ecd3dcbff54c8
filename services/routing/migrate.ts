import type { Db } from "mongodb";
import { AUDIT } from "../shared/io/audit-log.ts";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";
import { TEST_CONNECTOR_ID } from "./domain/connector.ts";
import type { ConnectorDocument } from "./store/documents.ts";

const SHAPES: readonly CollectionShape[] = [
  {
    name: "connectors",
    indexes: [],
    validator: {
      bsonType: "object",
      required: ["_id", "type", "state", "rate_per_second", "version", "created_at", "updated_at"],
      properties: {
        _id: { bsonType: "string", pattern: "^[a-z0-9-]{1,32}$" },
        type: { enum: ["smpp", "http", "test"] },
        state: { enum: ["active", "paused", "draining"] },
        rate_per_second: { bsonType: ["int", "long", "double"], minimum: 0 },
      },
    },
  },
  {
    name: "routes",
    indexes: [
      { key: { name: 1 }, name: "name", unique: true },
      { key: { connector_id: 1 }, name: "connector" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "name", "connector_id", "enabled", "priority", "weight", "prices"],
      properties: {
        _id: { bsonType: "string", pattern: "^rte_" },
        name: { bsonType: "string", minLength: 1, maxLength: 64 },
        enabled: { bsonType: "bool" },
        prices: {
          bsonType: "array",
          items: {
            bsonType: "object",
            required: ["prefix", "price"],
            properties: {
              prefix: { bsonType: "string", pattern: "^[1-9][0-9]{0,14}$" },
              price: { bsonType: "long", minimum: 0 },
            },
          },
        },
      },
    },
  },
  {
    name: "price_versions",
    indexes: [{ key: { route_id: 1, version: -1 }, name: "route_version", unique: true }],
  },
  AUDIT,
  { name: "quiet_hours", indexes: [] },
  { name: "counters", indexes: [] },
  {
    name: "bind_health",
    indexes: [{ key: { reported_at: 1 }, name: "expiry", expireAfterSeconds: 60 }],
  },
  { name: "connector_health", indexes: [] },
  {
    name: "delivery_health",
    indexes: [{ key: { reported_at: 1 }, name: "expiry", expireAfterSeconds: 600 }],
  },
];

/**
 * Creates or updates collections, indexes and validators, and inserts the built-in test connector.
 * Idempotent.
 */
export async function migrate(db: Db): Promise<void> {
  await shapeCollections(db, SHAPES);
  const now = new Date();
  const connector: Omit<ConnectorDocument, "_id"> = {
    type: "test",
    state: "active",
    rate_per_second: 0,
    smpp: null,
    http: null,
    version: 1,
    created_at: now,
    updated_at: now,
  };
  await db
    .collection<ConnectorDocument>("connectors")
    .updateOne({ _id: TEST_CONNECTOR_ID }, { $setOnInsert: connector }, { upsert: true });
}
