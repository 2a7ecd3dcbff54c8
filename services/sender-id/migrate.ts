import type { Db } from "mongodb";
import { AUDIT } from "../shared/io/audit-log.ts";
import { KEYED_ANSWER_SHAPES } from "../shared/io/keyed-answers.ts";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";
import { migrateOutbox } from "../shared/io/outbox.ts";

const SHAPES: readonly CollectionShape[] = [
  {
    name: "sender_ids",
    indexes: [
      { key: { tenant_id: 1, name_key: 1 }, name: "tenant_name", unique: true },
      // For the list of all tenants' sender IDs that wait for a review.
      { key: { status: 1, _id: 1 }, name: "status" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "tenant_id", "name", "name_key", "status"],
      properties: {
        _id: { bsonType: "string", pattern: "^sid_" },
        tenant_id: { bsonType: "string", pattern: "^ten_" },
        name: { bsonType: "string", pattern: "^[A-Za-z0-9 .-]{3,11}$" },
        status: { enum: ["pending", "approved", "rejected", "suspended"] },
        use_case: { bsonType: "string", maxLength: 500 },
        sample: { bsonType: "string", maxLength: 1600 },
      },
    },
  },
];

/** Creates or updates collections, indexes and validators. Idempotent. */
export async function migrate(db: Db): Promise<void> {
  await shapeCollections(db, [...SHAPES, ...KEYED_ANSWER_SHAPES, AUDIT]);
  await migrateOutbox(db);
}
