import type { Message } from "../../services/messaging/domain/message.ts";
import { migrate } from "../../services/messaging/migrate.ts";
import { type MessageDocument, toDocument } from "../../services/messaging/store/documents.ts";
import { openTestDatabase } from "./test-database.ts";

/** Opens an empty database of messaging, for tests of its stores. */
export async function openMessagingDatabase() {
  const { mongo, close } = await openTestDatabase("messaging_store", migrate);
  return {
    ...{ mongo, close },
    /** Stores messages, or replaces those with the same ids. */
    async put(messages: readonly Message[]): Promise<void> {
      const collection = mongo.db.collection<MessageDocument>("messages");
      for (const message of messages) {
        const document = toDocument(message);
        await collection.replaceOne({ _id: document._id }, document, { upsert: true });
      }
    },
  };
}
