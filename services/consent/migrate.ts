import type { Db } from "mongodb";
import { shapeCollections } from "../shared/io/migration.ts";
import { migrateOutbox } from "../shared/io/outbox.ts";
import { COLLECTIONS } from "./store/collections.ts";

/** Creates or updates collections, indexes and validators. Idempotent. */
export async function migrate(db: Db): Promise<void> {
  await shapeCollections(db, COLLECTIONS);
  await migrateOutbox(db);
}
