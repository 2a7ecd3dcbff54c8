import { mkdir, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import type { Db } from "mongodb";
import { findServer } from "./find-server.ts";
import { pollUntil } from "./poll.ts";
import { firstAnswer } from "./ports.ts";
import { endProcess, isRunning, lastLines, type ProcessRecord, startProcess } from "./processes.ts";
import { SERVERS, type ServerName } from "./server-table.ts";
import { StackError } from "./stack-error.ts";

export type ServerPlan = {
  readonly name: ServerName;
  readonly port: number;
  readonly dataDir: string;
  readonly logFile: string;
  /** The folder of unpacked wheels. */
  readonly serversDir: string;
  /** Journal files of 16 MB, not MongoDB's 100 MB, of which it allocates three: for stacks that must be small. */
  readonly hasSmallJournal?: boolean;
  readonly progress?: (line: string) => void;
  /** Called as soon as the process exists, before it serves. */
  readonly onStart?: (record: ProcessRecord) => void;
  readonly signal?: AbortSignal;
};

const REPLICA_SET = "sms";
const HOUR_MS = 3_600_000;
/** How long MongoDB keeps snapshot history, which queue scans walk over (ADR 73). */
const HISTORY_S = 120;
const READY_TIMEOUT_MS = 60_000;
/** MongoDB's own settings of the journal (mongod logs them at its start), and the size of a file. */
const SMALL_JOURNAL = "log=(enabled=true,remove=true,path=journal,compressor=snappy,file_max=16MB)";

/** The address of an embedded server, as the services take it. */
export function serverUrl(name: ServerName, port: number): string {
  if (name === "mongod") return `mongodb://127.0.0.1:${port}/?replicaSet=${REPLICA_SET}`;
  return name === "redis" ? `redis://127.0.0.1:${port}` : `nats://127.0.0.1:${port}`;
}

/**
 * Starts one server on 127.0.0.1 and waits until it serves. On failure it stops the server and throws
 * with the end of its log.
 */
export async function startServer(plan: ServerPlan): Promise<ProcessRecord> {
  const program = await findServer(SERVERS[plan.name], plan.serversDir, plan.progress);
  await mkdir(plan.dataDir, { recursive: true });
  const record = await startProcess({
    name: plan.name,
    program,
    args: await argumentsOf(plan),
    cwd: plan.dataDir,
    env: process.env,
    logFile: plan.logFile,
  });
  plan.onStart?.(record);
  const ready = await pollUntil(async () => {
    plan.signal?.throwIfAborted();
    return !isRunning(record) || (await isServing(plan.name, plan.port));
  }, READY_TIMEOUT_MS);
  if (ready === undefined || !isRunning(record)) {
    await endProcess(record, 2_000);
    const what = ready === undefined ? "did not serve in time" : "ended at its start";
    throw new StackError(
      `${plan.name} ${what} (port ${plan.port}); the end of ${plan.logFile}:\n${lastLines(plan.logFile, 4)}`,
    );
  }
  return record;
}

async function argumentsOf({
  name,
  port,
  dataDir,
  hasSmallJournal,
}: ServerPlan): Promise<string[]> {
  switch (name) {
    case "mongod":
      return [
        ...[
          "--dbpath",
          dataDir,
          "--bind_ip",
          "127.0.0.1",
          "--port",
          String(port),
          "--nounixsocket",
        ],
        ...["--replSet", REPLICA_SET, "--oplogSize", "1024"],
        ...["--wiredTigerCacheSizeGB", String(cacheGb())],
        ...["--setParameter", "diagnosticDataCollectionEnabled=false", "--quiet"],
        // Its log would show slow operations with message bodies and numbers, which no log may hold.
        ...["--slowms", String(HOUR_MS)],
        ...["--setParameter", `minSnapshotHistoryWindowInSeconds=${HISTORY_S}`],
        ...(hasSmallJournal === true ? ["--wiredTigerEngineConfigString", SMALL_JOURNAL] : []),
        // A one-node set has no secondary to step down to, so shutdown need not wait.
        ...["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"],
      ];
    case "nats-server": {
      const config = join(dataDir, "nats-server.conf");
      await writeFile(
        config,
        [
          `listen: "127.0.0.1:${port}"`,
          `server_name: "sms-${port}"`,
          "max_payload: 8MB",
          "jetstream {",
          `  store_dir: ${JSON.stringify(join(dataDir, "jetstream"))}`,
          // Streams reserve their limits against these; no disk space is allocated.
          "  max_memory_store: 1GB",
          "  max_file_store: 1TB",
          "}",
          "",
        ].join("\n"),
      );
      return ["-c", config];
    }
    case "redis":
      // The services can lose all data in Redis, so persistence is off.
      return [
        ...["--bind", "127.0.0.1", "--port", String(port), "--dir", dataDir],
        ...["--save", "", "--appendonly", "no", "--maxmemory", "512mb"],
        ...["--maxmemory-policy", "volatile-ttl"],
      ];
  }
}

/** True when the server responds in its protocol. Makes a mongod the primary of a one-node set. */
export async function isServing(name: ServerName, port: number): Promise<boolean> {
  if (name === "mongod") return isPrimary(port);
  const hello = name === "redis" ? "PING\r\n" : undefined;
  const answer = await firstAnswer(port, "127.0.0.1", hello, 1_000);
  return name === "redis"
    ? answer?.startsWith("+PONG") === true
    : /^INFO .*"jetstream":\s*true/.test(answer ?? "");
}

async function isPrimary(port: number): Promise<boolean> {
  // Loaded when it is needed: `make status` and `make logs` also run before packages are installed.
  const { MongoClient } = await import("mongodb");
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
  });
  try {
    const admin = client.db("admin");
    const me = `127.0.0.1:${port}`;
    const hello = await admin.command({ hello: 1 });
    if (hello.me === me) return hello.isWritablePrimary === true;
    if (hello.setName === undefined) await makeOnlyMember(admin, me);
    return false;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

/** Makes the server the only member of its set: a new set, or one whose data came from another port. */
async function makeOnlyMember(admin: Db, me: string): Promise<void> {
  const config = { _id: REPLICA_SET, members: [{ _id: 0, host: me }] };
  let version: number;
  try {
    const current = await admin.command({ replSetGetConfig: 1 });
    version = Number(current.config.version) + 1;
    if (current.config.members[0]?.host === me) return;
  } catch (error) {
    if ((error as { codeName?: string }).codeName !== "NotYetInitialized") throw error;
    await admin.command({ replSetInitiate: config });
    return;
  }
  await admin.command({ replSetReconfig: { ...config, version }, force: true });
}

/**
 * MongoDB's cache: a sixth of the machine's memory, a third of its default, because the services and other
 * stacks share the machine. The indexes of a long history must fit, else each page of a list reads them
 * from disk.
 */
function cacheGb(): number {
  return Math.max(1, Math.floor(totalmem() / 2 ** 30 / 6));
}
