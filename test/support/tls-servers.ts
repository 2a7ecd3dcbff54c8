/**
 * MongoDB, NATS and Valkey that accept only clients with a certificate of one authority. The pinned
 * Valkey is built without TLS, so a TLS proxy runs in front of it, like stunnel.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { type Db, MongoClient } from "mongodb";
import { findServer } from "../../deploy/dev/find-server.ts";
import { SERVERS_DIR } from "../../deploy/dev/paths.ts";
import { freePorts, isPortFree } from "../../deploy/dev/ports.ts";
import {
  endProcess,
  lastLines,
  type ProcessRecord,
  startProcess,
} from "../../deploy/dev/processes.ts";
import { SERVERS, type ServerName } from "../../deploy/dev/server-table.ts";
import { eventually } from "./poll.ts";
import { createGuard } from "./process-guard.ts";
import { createTestAuthority } from "./rpc-certificates.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export type TlsServers = {
  readonly ports: { readonly mongodb: number; readonly nats: number; readonly redis: number };
  readonly urls: { readonly mongodb: string; readonly nats: string; readonly redis: string };
  /** The files of a client: authority, certificate and key. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  /** An authority that signed none of the servers. */
  readonly otherCa: string;
  /** Connections to Redis with a certificate of the authority. */
  readonly redisCallers: () => number;
  /** Folder for the logs of processes; `stop` deletes it. */
  readonly folder: string;
  /** Adds a process to the test's guard. */
  readonly watch: (record: ProcessRecord) => void;
  readonly stop: () => Promise<void>;
};

/** Starts all three on free loopback ports, with certificates made for this run. */
export async function startTlsServers(): Promise<TlsServers> {
  const folder = temporaryFolder("tls-servers");
  const guard = createGuard(folder);
  const records: ProcessRecord[] = [];
  const [mongodb = 0, nats = 0, redis = 0, plain = 0] = await freePorts(4);
  const pem = writeCertificates(folder);
  const terminator = terminateTls(redis, plain, pem);
  let redisCallers = 0;
  terminator.on("secureConnection", () => {
    redisCallers += 1;
  });
  const stop = async () => {
    terminator.close();
    await Promise.all(records.map((record) => endProcess(record, 10_000)));
    guard.dismiss();
    rmSync(folder, { recursive: true, force: true });
  };
  const start = async (name: ServerName, args: readonly string[]) => {
    const cwd = join(folder, name);
    mkdirSync(cwd);
    const program = await findServer(SERVERS[name], SERVERS_DIR);
    const logFile = join(folder, `${name}.log`);
    const record = await startProcess({ name, program, args, cwd, env: process.env, logFile });
    records.push(record);
    guard.add(record);
  };
  const files = { ca: pem("ca.pem"), cert: pem("client.pem"), key: pem("client.key.pem") };
  try {
    await Promise.all([
      start("mongod", mongodArguments(mongodb, pem)),
      start("nats-server", ["-c", natsConfig(folder, nats, pem)]),
      start("redis", ["--bind", "127.0.0.1", "--port", String(plain), "--save", ""]),
    ]);
    await Promise.all([
      eventually(() => isPrimary(mongodb, files), { timeoutMs: 60_000, what: "a primary" }),
      ...[nats, plain].map((port) =>
        eventually(async () => !(await isPortFree(port)), {
          timeoutMs: 20_000,
          what: `a server on ${port}`,
        }),
      ),
    ]);
  } catch (error) {
    const said = ["mongod", "nats-server", "redis"].map((name) =>
      lastLines(join(folder, `${name}.log`), 4),
    );
    await stop();
    throw new Error(`${error}\n${said.join("\n")}`);
  }
  return {
    ports: { mongodb, nats, redis },
    urls: {
      mongodb: `mongodb://127.0.0.1:${mongodb}/?replicaSet=tls`,
      nats: `tls://127.0.0.1:${nats}`,
      redis: `rediss://127.0.0.1:${redis}`,
    },
    files,
    otherCa: pem("other-ca.pem"),
    redisCallers: () => redisCallers,
    folder,
    watch(record) {
      records.unshift(record);
      guard.add(record);
    },
    stop,
  };
}

/** Writes the certificates of an authority; returns the path of each file by its name. */
function writeCertificates(folder: string): (name: string) => string {
  const authority = createTestAuthority();
  const pem = (name: string) => join(folder, name);
  const [server, peer, client] = [
    authority.server(),
    authority.client("mongod"),
    authority.client("sms"),
  ];
  const contents: Readonly<Record<string, Buffer>> = {
    "ca.pem": authority.ca,
    "other-ca.pem": createTestAuthority().ca,
    "server.pem": server.cert,
    "server.key.pem": server.key,
    // mongod reads certificate and key from one file.
    "mongod.pem": Buffer.concat([server.cert, server.key]),
    "mongod-peer.pem": Buffer.concat([peer.cert, peer.key]),
    "client.pem": client.cert,
    "client.key.pem": client.key,
  };
  for (const [name, content] of Object.entries(contents)) {
    writeFileSync(pem(name), content, { mode: 0o600 });
  }
  return pem;
}

function mongodArguments(port: number, pem: (name: string) => string): string[] {
  return [
    ...["--dbpath", ".", "--bind_ip", "127.0.0.1", "--port", String(port), "--nounixsocket"],
    ...["--replSet", "tls", "--oplogSize", "64", "--wiredTigerCacheSizeGB", "0.25", "--quiet"],
    ...["--tlsMode", "requireTLS", "--tlsCAFile", pem("ca.pem")],
    ...["--tlsCertificateKeyFile", pem("mongod.pem"), "--tlsClusterFile", pem("mongod-peer.pem")],
    ...["--setParameter", "diagnosticDataCollectionEnabled=false"],
    ...["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"],
  ];
}

function natsConfig(folder: string, port: number, pem: (name: string) => string): string {
  const file = join(folder, "nats.conf");
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    `jetstream { store_dir: ${JSON.stringify(join(folder, "jetstream"))} }`,
    "tls {",
    `  cert_file: ${JSON.stringify(pem("server.pem"))}`,
    `  key_file: ${JSON.stringify(pem("server.key.pem"))}`,
    `  ca_file: ${JSON.stringify(pem("ca.pem"))}`,
    "  verify: true",
    "}",
    "",
  ];
  writeFileSync(file, lines.join("\n"));
  return file;
}

/** Accepts TLS on one port, from clients with a certificate, and forwards to another port. */
function terminateTls(from: number, to: number, pem: (name: string) => string): Server {
  const [cert, key, ca] = ["server.pem", "server.key.pem", "ca.pem"].map((name) =>
    readFileSync(pem(name)),
  );
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true });
  server.on("secureConnection", (secure) => {
    const plain = connect({ host: "127.0.0.1", port: to });
    for (const socket of [secure, plain]) {
      socket.on("error", () => {});
      socket.once("close", () => {
        secure.destroy();
        plain.destroy();
      });
    }
    secure.pipe(plain).pipe(secure);
  });
  return server.listen(from, "127.0.0.1");
}

async function isPrimary(port: number, files: TlsServers["files"]): Promise<boolean> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
    tls: true,
    ca: readFileSync(files.ca),
    cert: readFileSync(files.cert),
    key: readFileSync(files.key),
  });
  try {
    const admin = client.db("admin");
    const hello = await admin.command({ hello: 1 });
    if (hello.setName === undefined) await initiate(admin, port);
    return hello.isWritablePrimary === true;
  } finally {
    await client.close();
  }
}

async function initiate(admin: Db, port: number): Promise<void> {
  const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
  await admin.command({ replSetInitiate: { _id: "tls", members } });
}
