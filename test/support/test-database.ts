import type { Db } from "mongodb";
import { createLogger } from "../../services/shared/io/log.ts";
import { openMongo } from "../../services/shared/io/mongo.ts";
import { freshDatabase } from "./fresh-names.ts";
import { startServers } from "./servers.ts";

/** Opens an empty database with the collections and indexes of a service; `close` drops it. */
export async function openTestDatabase(name: string, migrate: (db: Db) => Promise<unknown>) {
  const servers = await startServers();
  const log = createLogger("test", "silent");
  const database = freshDatabase(name);
  const mongo = await openMongo({ uri: servers.mongodbUri, database, log });
  await migrate(mongo.db);
  return {
    mongo,
    async close(): Promise<void> {
      await mongo.db.dropDatabase();
      await mongo.close();
      await servers.stop();
    },
  };
}

export type TestDatabase = Awaited<ReturnType<typeof openTestDatabase>>;
