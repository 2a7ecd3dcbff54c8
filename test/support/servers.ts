import { rm } from "node:fs/promises";
import { join } from "node:path";
import { SERVERS_DIR } from "../../deploy/dev/paths.ts";
import { freePorts } from "../../deploy/dev/ports.ts";
import { endProcess, type ProcessRecord } from "../../deploy/dev/processes.ts";
import type { ServerName } from "../../deploy/dev/server-table.ts";
import { serverUrl, startServer } from "../../deploy/dev/servers.ts";
import { createGuard } from "./process-guard.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export type TestServers = {
  readonly mongodbUri: string;
  readonly natsUrl: string;
  readonly redisUrl: string;
  /** Stops the started servers; reused servers keep running. */
  readonly stop: () => Promise<void>;
};

const NAMES: readonly ServerName[] = ["mongod", "nats-server", "redis"];

/**
 * MongoDB (one-node replica set), NATS with JetStream and Valkey for tests, empty, on free ports of
 * 127.0.0.1. Reuses the servers of TEST_MONGODB_URI, TEST_NATS_URL and TEST_REDIS_URL when all three
 * are set, which is the case under `make test`: use fresh database and stream names in each file.
 */
export async function startServers(): Promise<TestServers> {
  const { TEST_MONGODB_URI, TEST_NATS_URL, TEST_REDIS_URL } = process.env;
  if (TEST_MONGODB_URI && TEST_NATS_URL && TEST_REDIS_URL) {
    return {
      mongodbUri: TEST_MONGODB_URI,
      natsUrl: TEST_NATS_URL,
      redisUrl: TEST_REDIS_URL,
      stop: async () => {},
    };
  }
  return startOwnServers();
}

/** As startServers, but always servers of its own: for tests that stop and kill them. */
export async function startOwnServers(): Promise<TestServers> {
  const folder = temporaryFolder("test");
  const ports = await freePorts(NAMES.length);
  const records: ProcessRecord[] = [];
  const guard = createGuard(folder);
  const onStart = (record: ProcessRecord) => {
    records.push(record);
    guard.add(record);
  };
  const stop = async () => {
    await Promise.all(records.map((record) => endProcess(record, 5_000)));
    guard.dismiss();
    await rm(folder, { recursive: true, force: true });
  };
  const started = await Promise.allSettled(
    NAMES.map(async (name, at) => {
      const port = ports[at] ?? 0;
      const dataDir = join(folder, name);
      const logFile = join(folder, `${name}.log`);
      await startServer({ name, port, dataDir, logFile, serversDir: SERVERS_DIR, onStart });
      return serverUrl(name, port);
    }),
  );
  const failed = started.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  const [mongodbUri = "", natsUrl = "", redisUrl = ""] = started.map((result) =>
    result.status === "fulfilled" ? result.value : "",
  );
  return { mongodbUri, natsUrl, redisUrl, stop };
}
