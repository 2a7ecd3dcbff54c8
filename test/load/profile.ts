/**
 * `make profile [COUNT=5000]`: CPU microseconds per message, by process: first the accept path
 * alone (the connector stands still), then everything to the settled, notified message. CPU time
 * hardly depends on what else the machine does, so two runs tell the same story.
 */
import { MongoClient } from "mongodb";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { setConnector } from "./connector-state.ts";
import { cpuSeconds, residentMb } from "./cpu.ts";
import { openConnections, singleSend } from "./sends.ts";
import { loadStack } from "./stack.ts";

const COUNT = Number(process.env.COUNT ?? 5000);
const { stack, stop } = await loadStack();
const client = await new MongoClient(stack.mongodb_uri).connect();
try {
  await send(COUNT / 2);
  await settled();
  const memory = residentMb(stack.pids);
  await setConnector(stack, ConnectorState.PAUSED);
  const accept = await measure(() => send(COUNT));
  const dispatch = await measure(async () => {
    await setConnector(stack, ConnectorState.ACTIVE);
    await settled();
  });
  print(accept, dispatch, memory);
} finally {
  await client.close();
  await stop();
}

async function send(count: number): Promise<void> {
  const connections = await openConnections(stack, 128);
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < count) {
        next += 1;
        const { status, body } = await connection.send(singleSend(stack, next));
        if (status !== 202) throw new Error(`refused with ${status}: ${body}`);
      }
      connection.close();
    }),
  );
}

/** Waits until nothing is under way: all delivered, settled and notified. */
async function settled(): Promise<void> {
  const messages = client.db("sms_messaging").collection("messages");
  const deliveries = client.db("sms_webhook").collection("deliveries");
  const reservations = client.db("sms_wallet").collection("reservations");
  for (const untilMs = Date.now() + 300_000; Date.now() < untilMs; ) {
    const open = await Promise.all([
      messages.countDocuments({ status: { $in: ["queued", "sent"] } }, { limit: 1 }),
      deliveries.countDocuments({ status: "pending" }, { limit: 1 }),
      reservations.countDocuments({ open_amount: { $gt: 0 } }, { limit: 1 }),
    ]);
    if (open.every((count) => count === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`not settled in time; the run ${newId("request")} is void`);
}

/** CPU microseconds per message of each process while `work` runs. */
async function measure(work: () => Promise<void>): Promise<Map<string, number>> {
  const before = cpuSeconds(stack.pids);
  const generatorBefore = process.cpuUsage();
  await work();
  const after = cpuSeconds(stack.pids);
  const spent = new Map<string, number>();
  for (const [name, seconds] of after) {
    spent.set(name, ((seconds - (before.get(name) ?? 0)) * 1e6) / COUNT);
  }
  const generator = process.cpuUsage(generatorBefore);
  spent.set("(load generator)", (generator.user + generator.system) / COUNT);
  return spent;
}

function print(
  accept: ReadonlyMap<string, number>,
  dispatch: ReadonlyMap<string, number>,
  memory: ReadonlyMap<string, number>,
): void {
  const rows = [...accept.keys()].map((name) => {
    const first = accept.get(name) ?? 0;
    const second = dispatch.get(name) ?? 0;
    return { name, first, second, total: first + second, mb: memory.get(name) ?? 0 };
  });
  rows.sort((a, b) => b.total - a.total);
  process.stdout.write("process             accept µs  to settled µs   total µs  memory MB\n");
  for (const { name, first, second, total, mb } of rows) {
    process.stdout.write(
      `${name.padEnd(18)} ${first.toFixed(0).padStart(10)} ${second.toFixed(0).padStart(14)} ` +
        `${total.toFixed(0).padStart(10)} ${mb.toFixed(0).padStart(10)}\n`,
    );
  }
}
