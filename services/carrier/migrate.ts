import type { Db } from "mongodb";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";

const DAY_S = 86_400;

const SHAPES: readonly CollectionShape[] = [
  {
    // Receipts come for 72 hours; later ones still count within seven days.
    name: "submissions",
    indexes: [{ key: { at: 1 }, name: "expiry", expireAfterSeconds: 7 * DAY_S }],
    validator: {
      bsonType: "object",
      required: ["_id", "m", "s", "to", "from", "at"],
      properties: {
        _id: { bsonType: "string" },
        m: { bsonType: "string", pattern: "^msg_" },
        s: { bsonType: ["int", "long", "double"], minimum: 0 },
        at: { bsonType: "date" },
      },
    },
  },
  {
    name: "unknown_submissions",
    indexes: [
      { key: { connector_id: 1, to: 1, from: 1 }, name: "parties" },
      { key: { at: 1 }, name: "expiry", expireAfterSeconds: DAY_S },
    ],
  },
  {
    name: "parked_receipts",
    indexes: [
      { key: { names: 1 }, name: "names" },
      { key: { next_at: 1 }, name: "next" },
    ],
  },
  {
    name: "unmatched_receipts",
    indexes: [{ key: { at: 1 }, name: "expiry", expireAfterSeconds: 3 * DAY_S }],
  },
  {
    // The baseline reaches back 25 hours (`domain/delivery-health.ts`).
    name: "delivery_counts",
    indexes: [{ key: { at: 1 }, name: "expiry", expireAfterSeconds: 26 * 3600 }],
  },
  { name: "leases", indexes: [{ key: { expires_at: 1 }, name: "expiry", expireAfterSeconds: 60 }] },
];

/** Creates collections, indexes and validators. Idempotent. */
export function migrate(db: Db): Promise<void> {
  return shapeCollections(db, SHAPES);
}
