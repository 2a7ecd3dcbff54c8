/** Wallet processes of a test's own, to call over gRPC and to kill. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@connectrpc/connect";
import { freePorts } from "../../deploy/dev/ports.ts";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { eventually } from "./poll.ts";
import type { TestServers } from "./servers.ts";

const TOKEN = "wallet-test-token-of-enough-length";
const MAIN = fileURLToPath(new URL("../../services/main.ts", import.meta.url));

/** One wallet process; `start` after `kill` serves on the same port. */
export type WalletProcess = {
  readonly target: string;
  readonly opsUrl: string;
  readonly pid: () => number;
  start(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM; answers the exit code. */
  stop(): Promise<number | null>;
};

/** A client of one or several wallet processes. */
export type WalletClient = Client<typeof WalletService> & { closeChannel(): void };

/** Starts a wallet process on a free port; its database `<prefix>_wallet` must be migrated. */
export async function startWallet(
  servers: Pick<TestServers, "mongodbUri" | "natsUrl">,
  prefix: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<WalletProcess> {
  const [port = 0, opsPort = 0, nowhere = 0] = await freePorts(3);
  let child: ChildProcess | undefined;
  const env = {
    ...process.env,
    MONGODB_URI: servers.mongodbUri,
    NATS_URL: servers.natsUrl,
    MONGODB_PREFIX: prefix,
    RPC_TOKEN: TOKEN,
    GRPC_PORT: String(port),
    OPS_PORT: String(opsPort),
    MESSAGING_GRPC: `127.0.0.1:${nowhere}`,
    LOG_LEVEL: "warn",
    ...settings,
  };
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const wallet: WalletProcess = {
    target: `127.0.0.1:${port}`,
    opsUrl,
    pid: () => child?.pid ?? 0,
    async start() {
      child = spawn(process.execPath, [MAIN, "wallet"], {
        env,
        stdio: ["ignore", process.env.WALLET_LOG === "1" ? "inherit" : "ignore", "inherit"],
      });
      const isReady = async () => (await fetch(`${opsUrl}/readyz`)).ok;
      await eventually(isReady, { timeoutMs: 20_000, what: "a ready wallet" });
    },
    async kill() {
      await end(child, "SIGKILL");
    },
    stop: () => end(child, "SIGTERM"),
  };
  await wallet.start();
  return wallet;
}

async function end(
  child: ChildProcess | undefined,
  signal: NodeJS.Signals,
): Promise<number | null> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return null;
  const exited = once(child, "exit");
  child.kill(signal);
  const [code] = (await exited) as [number | null];
  return code;
}

/** A client that goes round the given processes. */
export function connectWallet(...targets: readonly string[]): WalletClient {
  const transport = createGrpcJsTransport({ target: targets, token: TOKEN, maxReconnectMs: 200 });
  const client = createClient(WalletService, transport);
  return Object.assign(client, { closeChannel: () => transport.close() });
}
