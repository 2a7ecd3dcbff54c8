/** Wallet processes that a test calls over gRPC and kills. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@connectrpc/connect";
import { freePorts } from "../../deploy/dev/ports.ts";
import { LEAN_START } from "../../deploy/dev/process-table.ts";
import {
  endProcess,
  killProcess,
  type ProcessRecord,
  startProcess,
} from "../../deploy/dev/processes.ts";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { eventually } from "./poll.ts";
import { createGuard } from "./process-guard.ts";
import type { TestServers } from "./servers.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The RPC token of the wallet processes. */
export const WALLET_TOKEN = "wallet-test-token-of-enough-length";
const MAIN = fileURLToPath(new URL("../../services/main.ts", import.meta.url));

/** One wallet process; `start` after `kill` serves on the same port. */
export type WalletProcess = {
  readonly target: string;
  readonly opsUrl: string;
  start(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  /** Sends SIGTERM; idempotent. Returns the log, one JSON object per line. */
  stop(): Promise<string>;
};

/** A client of one or several wallet processes. */
export type WalletClient = Client<typeof WalletService> & { closeChannel(): void };

/** Starts a wallet process on a free port; its database `<prefix>_wallet` must be migrated. */
export async function startWallet(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  prefix: string,
  settings: Readonly<Record<string, string>> = {},
  /** Further services in the same process; their databases must be migrated too. */
  otherServices: readonly string[] = [],
): Promise<WalletProcess> {
  const [port = 0, opsPort = 0, nowhere = 0] = await freePorts(3);
  const folder = temporaryFolder("wallet");
  const guard = createGuard(folder);
  const logFile = join(folder, "wallet.log");
  let record: ProcessRecord | undefined;
  let stopped: Promise<string> | undefined;
  const env = {
    ...process.env,
    MONGODB_URI: servers.mongodbUri,
    NATS_URL: servers.natsUrl,
    MONGODB_PREFIX: prefix,
    RPC_TOKEN: WALLET_TOKEN,
    GRPC_PORT: String(port),
    OPS_PORT: String(opsPort),
    MESSAGING_GRPC: `127.0.0.1:${nowhere}`,
    // For the tenant service, where it shares the process.
    ENCRYPTION_KEYS: `t:${Buffer.alloc(32).toString("base64")}`,
    ...settings,
  };
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const wallet: WalletProcess = {
    target: `127.0.0.1:${port}`,
    opsUrl,
    async start() {
      record = await startProcess({
        name: "wallet",
        program: process.execPath,
        args: [...LEAN_START, MAIN, "wallet", ...otherServices],
        cwd: folder,
        env,
        logFile,
      });
      guard.add(record);
      const isReady = async () => (await fetch(`${opsUrl}/readyz`)).ok;
      await eventually(isReady, { timeoutMs: 30_000, what: "a ready wallet" });
    },
    async kill() {
      if (record !== undefined) await killProcess(record);
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
  async function stop(): Promise<string> {
    if (record !== undefined) await endProcess(record, 10_000);
    const log = await readFile(logFile, "utf8");
    guard.dismiss();
    await rm(folder, { recursive: true, force: true });
    return log;
  }
  await wallet.start();
  return wallet;
}

/** A client that distributes its calls over the given processes. */
export function connectWallet(...targets: readonly string[]): WalletClient {
  const transport = createGrpcJsTransport({
    target: targets,
    token: WALLET_TOKEN,
    maxReconnectMs: 200,
  });
  const client = createClient(WalletService, transport);
  return Object.assign(client, { closeChannel: () => transport.close() });
}
