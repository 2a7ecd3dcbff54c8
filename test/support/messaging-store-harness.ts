/** The database of messaging for tests of its stores, migrated and empty. */

import type { Message } from "../../services/messaging/domain/message.ts";
import { migrate } from "../../services/messaging/migrate.ts";
import { type MessageDocument, toDocument } from "../../services/messaging/store/documents.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { openMongo } from "../../services/shared/io/mongo.ts";
import { freshDatabase } from "./fresh-names.ts";
import { startServers } from "./servers.ts";

/** Opens it. */
export async function openMessagingDatabase() {
  const servers = await startServers();
  const log = createLogger("test", "silent");
  const mongo = await openMongo({
    ...{ uri: servers.mongodbUri, database: freshDatabase("messaging_store"), log },
  });
  await migrate(mongo.db);
  return {
    mongo,
    /** Stores messages, or replaces those with the same ids. */
    async put(messages: readonly Message[]): Promise<void> {
      const collection = mongo.db.collection<MessageDocument>("messages");
      for (const message of messages) {
        const document = toDocument(message);
        await collection.replaceOne({ _id: document._id }, document, { upsert: true });
      }
    },
    async close(): Promise<void> {
      await mongo.db.dropDatabase();
      await mongo.close();
      await servers.stop();
    },
  };
}
