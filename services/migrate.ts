/**
 * Migrates every database and the event stream to this version. Each step is idempotent, so running it twice,
 * or from two places at once, is harmless.
 */
import type { Db } from "mongodb";
import { DATABASE_SETTINGS, EVENT_SETTINGS, PROCESS_SETTINGS } from "./shared/io/base-config.ts";
import { ConfigError, readConfig } from "./shared/io/config.ts";
import { createLogger } from "./shared/io/log.ts";
import { openMongo } from "./shared/io/mongo.ts";
import { EVENT_STREAM, ensureStream, openNats } from "./shared/io/nats.ts";

/** Each owner of a database and its migration. */
const MIGRATIONS: Readonly<Record<string, () => Promise<{ migrate(db: Db): Promise<void> }>>> = {
  tenant: () => import("./tenant/migrate.ts"),
  sender_id: () => import("./sender-id/migrate.ts"),
  wallet: () => import("./wallet/migrate.ts"),
  routing: () => import("./routing/migrate.ts"),
  messaging: () => import("./messaging/migrate.ts"),
  carrier: () => import("./carrier/migrate.ts"),
  webhook: () => import("./webhook/migrate.ts"),
  campaign: () => import("./campaign/migrate.ts"),
  consent: () => import("./consent/migrate.ts"),
};

const SETTINGS = {
  LOG_LEVEL: PROCESS_SETTINGS.LOG_LEVEL,
  ...DATABASE_SETTINGS,
  ...EVENT_SETTINGS,
};

/** Runs every migration; returns the exit code of the process. */
export async function migrate(env: NodeJS.ProcessEnv): Promise<number> {
  let log = createLogger("migrate");
  const opened: { close(): Promise<void> }[] = [];
  try {
    const config = readConfig(env, SETTINGS);
    log = createLogger("migrate", config.LOG_LEVEL);
    const nats = await openNats({ url: config.NATS_URL, name: "migrate", log });
    opened.push(nats);
    await ensureStream(await nats.connection.jetstreamManager(), {
      name: EVENT_STREAM,
      subjects: ["events.>"],
      replicas: config.EVENT_STREAM_REPLICAS,
      maxAgeMs: config.EVENT_STREAM_MAX_AGE_MS,
      maxBytes: config.EVENT_STREAM_MAX_BYTES,
    });
    const mongo = await openMongo({
      ...{ uri: config.MONGODB_URI, database: "admin", log },
      commandMs: 0,
    });
    opened.push(mongo);
    for (const [name, load] of Object.entries(MIGRATIONS)) {
      const { migrate: run } = await load();
      await run(mongo.client.db(`${config.MONGODB_PREFIX}_${name}`));
      log.info({ database: name }, "migrated");
    }
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`migrate: ${error.message}\n`);
    else log.fatal({ error }, "the migration failed");
    return 1;
  } finally {
    // An open connection would keep the process alive, and its caller would wait for ever.
    await Promise.allSettled(opened.map((connection) => connection.close()));
  }
}
