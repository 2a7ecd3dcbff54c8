/**
 * The cost of one single send, from the request to the settled and notified message: CPU time of
 * every process of the stack, read from the kernel, which other work on the machine moves far less
 * than it moves a throughput.
 */
import { MongoClient } from "mongodb";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { QUEUE_INDEX } from "../../services/webhook/store/queue.ts";
import { cpuSeconds } from "./cpu.ts";
import { openConnections } from "./sends.ts";

/** CPU microseconds per message, by process and in all. */
export type MessageCost = {
  readonly byProcess: ReadonlyMap<string, number>;
  readonly allUs: number;
};

/** The simulators: their cost is not the product's. */
export const OUTSIDE: ReadonlySet<string> = new Set(["smsc-simulator", "receiver"]);

const CONNECTIONS = 64;
const SETTLE_MS = 240_000;
const POLL_MS = 250;

/** Sends `count` messages and waits for the last; returns the cost of each. */
export async function measureCost(
  stack: StackFile,
  count: number,
  request: (at: number) => Buffer,
): Promise<MessageCost> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const pids = Object.fromEntries(
    Object.entries(stack.pids).filter(([name]) => !OUTSIDE.has(name)),
  );
  try {
    const before = cpuSeconds(pids);
    const firstId = newId("message");
    await sendAll(stack, count, request);
    await settled(client, firstId, count);
    const after = cpuSeconds(pids);
    const byProcess = new Map<string, number>();
    for (const [name, seconds] of after) {
      byProcess.set(name, ((seconds - (before.get(name) ?? 0)) * 1e6) / count);
    }
    const allUs = [...byProcess.values()].reduce((sum, us) => sum + us, 0);
    return { byProcess, allUs };
  } finally {
    await client.close();
  }
}

/** CPU that the stack uses while nothing is asked of it, in thousandths of a core. */
export async function measureIdle(stack: StackFile, forMs: number): Promise<number> {
  const sum = () => [...cpuSeconds(stack.pids).values()].reduce((all, used) => all + used, 0);
  const [before, fromMs] = [sum(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, forMs));
  return ((sum() - before) * 1e6) / (performance.now() - fromMs);
}

/** Sends `count` messages as fast as the stack takes them. */
export async function sendAll(
  stack: StackFile,
  count: number,
  request: (at: number) => Buffer,
  connectionCount = CONNECTIONS,
): Promise<void> {
  const connections = await openConnections(stack, connectionCount);
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < count) {
        next += 1;
        const { status, body } = await connection.send(request(next));
        if (status !== 202) throw new Error(`refused with ${status}: ${body}`);
      }
      connection.close();
    }),
  );
}

/**
 * Waits until the run's messages are final and settled, and nothing is left to notify. It asks only
 * by ranges of indexes: a count that walks a large collection would be what it measures.
 */
export async function settled(client: MongoClient, firstId: string, count: number): Promise<void> {
  const ofTheRun = { _id: { $gte: firstId } };
  const settlements = client.db("sms_wallet").collection<{ _id: string }>("settlements");
  const messages = client.db("sms_messaging").collection<{ _id: string }>("messages");
  const deliveries = client.db("sms_webhook").collection("deliveries");
  const soon = { $gt: new Date(0), $lt: new Date(Date.now() + SETTLE_MS) };
  let calm = 0;
  for (const untilMs = Date.now() + SETTLE_MS; Date.now() < untilMs; ) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if ((await settlements.countDocuments(ofTheRun)) < count) continue;
    const open = { ...ofTheRun, status: { $in: ["queued", "sent"] } };
    const pending = { endpoint_id: { $gt: "" }, next_attempt_at: soon };
    const [underWay, toNotify] = await Promise.all([
      messages.countDocuments(open, { limit: 1, hint: "_id_" }),
      deliveries.countDocuments(pending, { limit: 1, hint: QUEUE_INDEX }),
    ]);
    // Twice: at the first check the last events may be in flight to the webhook service.
    calm = underWay + toNotify === 0 ? calm + 1 : 0;
    if (calm === 2) return;
  }
  throw new Error("the messages did not come to their end in time");
}
