/** Webhook and receiver processes of one test, to measure and to kill. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@connectrpc/connect";
import { freePorts } from "../../deploy/dev/ports.ts";
import { LEAN_START } from "../../deploy/dev/process-table.ts";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { eventually } from "./poll.ts";
import { createGuard } from "./process-guard.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import type { Collected } from "./webhook-receiver-process.ts";

const TOKEN = "webhook-test-token-of-enough-length";
const MAIN = fileURLToPath(new URL("../../services/main.ts", import.meta.url));
const RECEIVER = fileURLToPath(new URL("./webhook-receiver-process.ts", import.meta.url));

/** One webhook process; `start` after `kill` uses the same ports. */
export type WebhookProcess = {
  readonly client: Client<typeof WebhookService>;
  readonly opsUrl: string;
  pid(): number;
  start(): Promise<void>;
  /** Starts without waiting until it is ready: MongoDB or NATS may be away. */
  launch(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Sends SIGTERM; returns the exit code. */
  stop(): Promise<number | null>;
  /** A figure of `/metrics`, summed over its labels. */
  metric(name: string): Promise<number>;
};

/** Starts a webhook process on free ports; its database must be migrated. */
export async function startWebhookProcess(
  settings: Readonly<Record<string, string>>,
): Promise<WebhookProcess> {
  const [port = 0, opsPort = 0] = await freePorts(2);
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const transport = createGrpcJsTransport({
    target: [`127.0.0.1:${port}`],
    token: TOKEN,
    maxReconnectMs: 200,
  });
  const folder = temporaryFolder("webhook-process");
  const guard = createGuard(folder);
  let child: ChildProcess | undefined;
  const env = {
    ...process.env,
    RPC_TOKEN: TOKEN,
    GRPC_PORT: String(port),
    OPS_PORT: String(opsPort),
    LOG_LEVEL: process.env.WEBHOOK_LOG ?? "fatal",
    ...settings,
  };
  const webhook: WebhookProcess = {
    client: createClient(WebhookService, transport),
    opsUrl,
    pid: () => child?.pid ?? 0,
    launch() {
      child = spawn(process.execPath, [...LEAN_START, MAIN, "webhook"], {
        env,
        // Its own process group, which the guard ends if this process dies first.
        detached: true,
        stdio: ["ignore", process.env.WEBHOOK_LOG ? "inherit" : "ignore", "inherit"],
      });
      guard.add({ name: "webhook", pid: child.pid ?? 0, startTicks: "", bootId: "" });
    },
    async start() {
      webhook.launch();
      const isReady = async () => (await fetch(`${opsUrl}/readyz`)).ok;
      await eventually(isReady, { timeoutMs: 20_000, what: "a ready webhook process" });
    },
    kill: async () => void (await end(child, "SIGKILL")),
    async stop() {
      transport.close();
      const code = await end(child, "SIGTERM");
      guard.dismiss();
      await rm(folder, { recursive: true, force: true });
      return code;
    },
    async metric(name) {
      const text = await (await fetch(`${opsUrl}/metrics`)).text();
      const lines = text.split("\n").filter((line) => new RegExp(`^${name}(\\{| )`).test(line));
      return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    },
  };
  await webhook.start();
  return webhook;
}

/** Receivers in their own process. */
export type ReceiverProcess = {
  readonly port: number;
  url(path: string): string;
  /** The requests since the last call. */
  collect(): Promise<Collected>;
  stop(): Promise<void>;
};

/** Starts the receiver process on a free port. */
export async function startReceiverProcess(tls: {
  readonly certFile: string;
  readonly keyFile: string;
}): Promise<ReceiverProcess> {
  const child = fork(RECEIVER, [tls.certFile, tls.keyFile], { serialization: "advanced" });
  const [{ listening: port }] = (await once(child, "message")) as [{ listening: number }];
  return {
    port,
    url: (path) => `https://localhost:${port}${path}`,
    async collect() {
      const answered = once(child, "message") as Promise<[{ collected: Collected }]>;
      child.send("collect");
      return (await answered)[0].collected;
    },
    stop: async () => void (await end(child, "SIGTERM")),
  };
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
