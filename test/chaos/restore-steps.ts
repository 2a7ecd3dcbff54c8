/** The steps of `deploy/runbooks/backup-and-restore.md` as a program. */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { MongoClient } from "mongodb";
import { layoutOf, ROOT } from "../../deploy/dev/paths.ts";
import { SERVICE_PROCESSES } from "../../deploy/dev/process-table.ts";
import { stopProcesses } from "../../deploy/dev/stop-stack.ts";
import { smsctl } from "../support/smsctl.ts";
import type { TestStack } from "../support/stack.ts";

const run = promisify(execFile);

/** One way to back up MongoDB at a point in time and to restore it. */
export type MongoBackup = {
  readonly name: string;
  /** The reason why it cannot run here, if any. */
  readonly missing: () => Promise<string | undefined>;
  /** Runs while all services write. */
  readonly take: (stack: TestStack, folder: string) => Promise<void>;
  /** Restores the data and starts the empty server. */
  readonly bringBack: (stack: TestStack, folder: string) => Promise<void>;
};

/** A copy of the member's files while its writes are locked, like a volume snapshot. */
const VOLUME_SNAPSHOT: MongoBackup = {
  name: "snapshot of the volume",
  missing: async () => undefined,
  async take(stack, folder) {
    const client = await new MongoClient(stack.mongodb_uri).connect();
    const admin = client.db("admin");
    try {
      await admin.command({ fsync: 1, lock: true });
      await cp(dataOf(stack, "mongod"), join(folder, "mongod"), { recursive: true });
      await admin.command({ fsyncUnlock: 1 });
    } finally {
      await client.close();
    }
  },
  async bringBack(stack, folder) {
    await cp(join(folder, "mongod"), dataOf(stack, "mongod"), { recursive: true });
    await stack.restart("mongod");
  },
};

/** A dump of every database with the oplog of its duration, hence consistent at one point in time. */
const MONGODUMP: MongoBackup = {
  name: "mongodump --oplog",
  async missing() {
    for (const tool of ["mongodump", "mongorestore"]) {
      try {
        await run(tool, ["--version"]);
      } catch {
        return `${tool} is not installed (MongoDB Database Tools)`;
      }
    }
    return undefined;
  },
  async take(stack, folder) {
    const archive = `--archive=${join(folder, "mongodb.gz")}`;
    await run("mongodump", ["--uri", stack.mongodb_uri, "--oplog", "--gzip", archive]);
  },
  async bringBack(stack, folder) {
    await stack.restart("mongod");
    const archive = `--archive=${join(folder, "mongodb.gz")}`;
    const options = ["--oplogReplay", "--gzip", "--drop", archive];
    await run("mongorestore", ["--uri", stack.mongodb_uri, ...options]);
  },
};

/** Both ways of the runbook. */
export const MONGO_BACKUPS: readonly MongoBackup[] = [VOLUME_SNAPSHOT, MONGODUMP];

/** The stream before MongoDB, so that every event's message is in the database. */
export async function takeBackup(
  stack: TestStack,
  mongo: MongoBackup,
  folder: string,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await streamTool(stack, "backup", folder);
  await mongo.take(stack, folder);
  await writeFile(join(folder, TAKEN_AT), new Date().toISOString());
}

/** The file with the end time of a backup. */
const TAKEN_AT = "taken-at";

/** Stops processes gracefully. */
export async function end(stack: TestStack, ...names: string[]): Promise<void> {
  await stopProcesses(layoutOf(stack.dir), new Set(names));
}

const SERVERS = ["mongod", "nats-server", "redis"];

/** Kills all services and servers and deletes their disks; the simulators stay. */
export async function disaster(stack: TestStack, dead: readonly string[]): Promise<void> {
  const names = [...SERVICE_PROCESSES.map(({ name }) => name), ...SERVERS];
  await Promise.all(names.filter((name) => !dead.includes(name)).map((name) => stack.kill(name)));
  for (const name of [...SERVERS, "carrier-journal"]) {
    await rm(dataOf(stack, name), { recursive: true, force: true });
  }
}

/**
 * Restores everything. Cancels the messages that were queued at the backup, because they may have been sent
 * since. Returns their number.
 */
export async function restoreAll(
  stack: TestStack,
  mongo: MongoBackup,
  folder: string,
): Promise<number> {
  await mongo.bringBack(stack, folder);
  await stack.restart("nats-server");
  await streamTool(stack, "restore", folder);
  await stack.restart("redis");
  for (const { name } of SERVICE_PROCESSES) if (name !== "carrier") await stack.restart(name);
  const before = ["--to", await readFile(join(folder, TAKEN_AT), "utf8")];
  const words = ["message", "list", ...TENANT(stack), ...QUEUED, ...before];
  const queued = (await operate(stack, ...words)) as { id: string }[];
  let cancelled = 0;
  for (const { id } of queued) {
    const { code } = await smsctl(stack, "message", "cancel", id, ...TENANT(stack));
    // A claimed message cannot be cancelled: it ends as submission_unknown by itself.
    if (code === 0) cancelled += 1;
  }
  await stack.restart("carrier");
  return cancelled;
}

const TENANT = ({ tenant_id }: TestStack) => ["--tenant", tenant_id];
const QUEUED = ["--status", "queued", "--limit", "1000"];

async function operate(stack: TestStack, ...words: string[]): Promise<unknown> {
  const { code, value, error } = await smsctl(stack, ...words);
  if (code !== 0) throw new Error(error);
  return value;
}

async function streamTool(stack: TestStack, what: string, folder: string): Promise<void> {
  const tool = join(ROOT, "deploy/backup/stream.ts");
  await run(process.execPath, [tool, what, join(folder, "stream")], {
    env: { ...process.env, NATS_URL: stack.nats_url },
  });
}

function dataOf(stack: TestStack, name: string): string {
  return join(layoutOf(stack.dir).dataDir, name);
}
