/**
 * The cost of the gateway itself: its CPU time per answered request, read from the kernel, which
 * other work on the machine moves far less than a throughput. The stack behind is real.
 *
 * `node test/load/bench-gateway.ts [--json]`; `BENCH_STACK=.local/stack.json` measures a running one.
 */
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { setConnector } from "./connector-state.ts";
import { cpuSeconds } from "./cpu.ts";
import { driveClosed } from "./drive.ts";
import { getRequest, type LoadConnection, postRequest } from "./http-client.ts";
import { openConnections, ordinaryRecipient, singleSend } from "./sends.ts";
import { loadStack } from "./stack.ts";

const CONNECTIONS = 64;
const WARMUP_MS = 2000;
const MEASURE_MS = 4000;

/** User and system time of the gateway so far, in microseconds. */
function gatewayCpuUs(): number {
  const pid = stack.pids.gateway ?? 0;
  return (cpuSeconds({ gateway: pid }).get("gateway") ?? 0) * 1e6;
}

type Scenario = { readonly status: number; request(stack: StackFile, count: number): Buffer };

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "single send": { status: 202, request: singleSend },
  "single send with a key": {
    status: 202,
    request: (stack, count) =>
      postRequest(
        new URL(stack.gateway),
        "/v1/sms/messages",
        {
          Authorization: `Bearer ${stack.api_key}`,
          "Idempotency-Key": `bench-${process.pid}-${count}`,
        },
        JSON.stringify({ to: ordinaryRecipient(count), from: stack.sender_id, body: "Hello" }),
      ),
  },
  "refused field": {
    status: 422,
    request: (stack) =>
      postRequest(
        new URL(stack.gateway),
        "/v1/sms/messages",
        { Authorization: `Bearer ${stack.api_key}` },
        JSON.stringify({ to: "08031234567", from: stack.sender_id, body: "" }),
      ),
  },
  balance: {
    status: 200,
    request: (stack) =>
      getRequest(new URL(stack.gateway), "/v1/balance", {
        Authorization: `Bearer ${stack.api_key}`,
      }),
  },
};

const { stack, stop } = await loadStack();
const results: Record<string, unknown>[] = [];
let count = Date.now() % 1_000_000;
try {
  await setConnector(stack, ConnectorState.PAUSED);
  const connections = await openConnections(stack, CONNECTIONS);
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    results.push({ name, ...(await measure(connections, scenario)) });
  }
  for (const connection of connections) connection.close();
} finally {
  await setConnector(stack, ConnectorState.ACTIVE);
  await stop();
}
if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify(results)}\n`);
else process.stdout.write(`${results.map((row) => JSON.stringify(row)).join("\n")}\n`);

async function measure(connections: readonly LoadConnection[], scenario: Scenario) {
  const work = async (caller: number) => {
    count += 1;
    const answer = await connections[caller]?.send(scenario.request(stack, count));
    return answer?.status === scenario.status;
  };
  const callers = connections.length;
  await driveClosed({ callers, warmupMs: 0, measureMs: WARMUP_MS, work });
  const before = gatewayCpuUs();
  const run = await driveClosed({ callers, warmupMs: 0, measureMs: MEASURE_MS, work });
  const spentUs = gatewayCpuUs() - before;
  return {
    cpuUsPerRequest: Math.round(spentUs / (run.succeeded + run.failed)),
    perSecond: Math.round(run.perSecond),
    p50Ms: run.p50Ms,
    p99Ms: run.p99Ms,
    failed: run.failed,
  };
}
