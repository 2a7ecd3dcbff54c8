import type { Db } from "mongodb";
import { shapeCollections } from "../shared/io/migration.ts";
import { migrateOutbox } from "../shared/io/outbox.ts";
import { COLLECTIONS } from "./store/schema.ts";

/** Migrates the messaging database to this version; idempotent. */
export async function migrate(db: Db): Promise<void> {
  await shapeCollections(db, COLLECTIONS);
  await migrateOutbox(db);
}
