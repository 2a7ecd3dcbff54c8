/**
 * Unary calls per second of this project's RPC adapter and of connect-node's own HTTP/2 server with
 * its gRPC transport, side by side: the same service, the same client code, 64 calls in flight, the
 * servers in processes of their own, repetitions interleaved so that a noisy machine hits both.
 *
 * `node test/load/bench-rpc.ts [--json]`; about 15 seconds.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { availableParallelism, cpus } from "node:os";
import { createClient, type Transport } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createRpcAuth } from "../../services/shared/rpc/auth.ts";
import { runInCall } from "../../services/shared/rpc/call-context.ts";
import type { Routes } from "../../services/shared/rpc/routes.ts";
import { createRpcServer } from "../../services/shared/rpc/server.ts";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { spreadOf } from "./spread.ts";

const IN_FLIGHT = 64;
const ROUND_MS = 1500;
const ROUNDS = 4;
const TOKEN = "bench-token-of-enough-length";
const TENANT_ID = "ten_01J00000000000000000000000";
/** Calls are made for a request, as the gateway's are. */
const CONTEXT = { requestId: "req_01J00000000000000000000000", tenantId: TENANT_ID };

const routes: Routes = (router) =>
  router.service(WalletService, {
    getWallet: ({ tenantId }) => ({
      wallet: { tenantId, currency: "NGN", balance: 1_234_500n, held: 500n, available: 1_234_000n },
    }),
  });

/** Each stack: how its server listens and how its client reaches it. */
const STACKS = {
  adapter: {
    async listen(): Promise<number> {
      const auth = createRpcAuth([{ name: "bench", tokens: [TOKEN], methods: ["*"] }]);
      return createRpcServer({ routes, auth }).listen("127.0.0.1", 0);
    },
    connect(port: number): { transport: Transport; close: () => void } {
      const transport = createGrpcJsTransport({ target: `127.0.0.1:${port}`, token: TOKEN });
      return { transport, close: () => transport.close() };
    },
  },
  "connect-node": {
    async listen(): Promise<number> {
      const server = http2.createServer(connectNodeAdapter({ routes }));
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    },
    connect(port: number): { transport: Transport; close: () => void } {
      const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
      return { transport, close: () => {} };
    },
  },
} as const;

type StackName = keyof typeof STACKS;
const NAMES = Object.keys(STACKS) as StackName[];

/** One round: calls per second, percentiles of their durations, CPU time per call at each end. */
type Round = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly clientCpuUs: number;
  readonly serverCpuUs: number;
};

type Link = { readonly child: ChildProcess; readonly transport: Transport; close(): void };

async function runRound({ transport, child }: Link, durationMs: number): Promise<Round> {
  const wallets = createClient(WalletService, transport);
  const latencies: number[] = [];
  const serverStartUs = await serverCpuUs(child);
  const clientStart = process.cpuUsage();
  const startedMs = performance.now();
  const endMs = startedMs + durationMs;
  const caller = async (): Promise<void> => {
    for (let now = performance.now(); now < endMs; now = performance.now()) {
      const { wallet } = await runInCall(CONTEXT, () =>
        wallets.getWallet({ tenantId: TENANT_ID }, { timeoutMs: 5000 }),
      );
      if (wallet?.balance !== 1_234_500n) throw new Error("a wrong answer came back");
      latencies.push(performance.now() - now);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  const elapsedMs = performance.now() - startedMs;
  const client = process.cpuUsage(clientStart);
  const serverUs = (await serverCpuUs(child)) - serverStartUs;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    perSecond: (latencies.length / elapsedMs) * 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    clientCpuUs: (client.user + client.system) / latencies.length,
    serverCpuUs: serverUs / latencies.length,
  };
}

async function serverCpuUs(child: ChildProcess): Promise<number> {
  child.send("usage");
  const [used] = (await once(child, "message")) as [number];
  return used;
}

async function startServer(name: StackName): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [import.meta.filename, "--serve", name], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [port] = (await once(child, "message")) as [number];
  return { child, port };
}

function summarise(rounds: readonly Round[]) {
  const middle = (read: (round: Round) => number): number => spreadOf(rounds.map(read)).median;
  return {
    perSecond: Math.round(middle(({ perSecond }) => perSecond)),
    p50Ms: Number(middle(({ p50Ms }) => p50Ms).toFixed(2)),
    p99Ms: Number(middle(({ p99Ms }) => p99Ms).toFixed(2)),
    clientCpuUs: Math.round(middle(({ clientCpuUs }) => clientCpuUs)),
    serverCpuUs: Math.round(middle(({ serverCpuUs }) => serverCpuUs)),
  };
}

async function measure(): Promise<Record<StackName, Round[]>> {
  const results: Record<StackName, Round[]> = { adapter: [], "connect-node": [] };
  const links = new Map<StackName, Link>();
  try {
    for (const name of NAMES) {
      const { child, port } = await startServer(name);
      const link = { child, ...STACKS[name].connect(port) };
      links.set(name, link);
      await runRound(link, ROUND_MS);
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, link] of links) results[name].push(await runRound(link, ROUND_MS));
    }
  } finally {
    for (const { child, close } of links.values()) {
      close();
      child.kill("SIGKILL");
    }
  }
  return results;
}

async function main(): Promise<void> {
  const results = await measure();
  const adapter = summarise(results.adapter);
  const connectNode = summarise(results["connect-node"]);
  const ratio = Number((adapter.perSecond / connectNode.perSecond).toFixed(2));
  const machine = `${availableParallelism()} x ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`;
  if (process.argv.includes("--json")) {
    console.log(JSON.stringify({ machine, inFlight: IN_FLIGHT, adapter, connectNode, ratio }));
    return;
  }
  console.log(`unary calls, ${IN_FLIGHT} in flight, median of ${ROUNDS} rounds; ${machine}`);
  console.table({ adapter, "connect-node": connectNode });
  const cpu = (stack: typeof adapter): number => stack.clientCpuUs + stack.serverCpuUs;
  console.log(`calls per second: ${ratio} times connect-node (expected at least 3)`);
  console.log(`CPU per call, both ends: 1/${(cpu(connectNode) / cpu(adapter)).toFixed(2)} of it`);
}

const served = process.argv[process.argv.indexOf("--serve") + 1];
if (process.argv.includes("--serve")) {
  const stack = STACKS[served as StackName];
  process.send?.(await stack.listen());
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.once("disconnect", () => process.exit(0));
} else {
  await main();
  // connect-node's HTTP/2 sessions have no close of their own and would hold the process.
  process.exit(0);
}
