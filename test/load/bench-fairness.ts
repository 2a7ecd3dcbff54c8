/**
 * `make bench-fairness [COUNT=100000]`: one tenant queues a hundred thousand bulk messages; then
 * another sends single messages. Each of those must be sent in less than a second.
 */
import { callRest, type SeenMessage } from "../support/customer.ts";
import { smsctl } from "../support/smsctl.ts";
import { report } from "./report.ts";
import { bulkSend, openConnections, ordinaryRecipient } from "./sends.ts";
import { loadStack } from "./stack.ts";

const COUNT = Number(process.env.COUNT ?? 100_000);
const SINGLES = 30;
const { stack, stop } = await loadStack();
try {
  const other = await otherTenant();
  await queueBulk();
  const delays: number[] = [];
  for (let at = 0; at < SINGLES; at += 1) {
    delays.push(await sentAfterMs(other, at));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  delays.sort((a, b) => a - b);
  const worstMs = delays.at(-1) ?? 0;
  const stats = await waiting();
  report("bench-fairness", [
    {
      path: `single sends beside ${COUNT} queued bulk messages, accepted → sent`,
      budget: "< 1,000 ms",
      aim: "",
      measured: `median ${delays[SINGLES >> 1]} ms, worst ${worstMs} ms (${stats} still waiting)`,
      met: worstMs < 1000 && stats > 0,
      figures: { worstMs, waiting: stats },
    },
  ]);
} finally {
  await stop();
}

async function otherTenant(): Promise<string> {
  const run = async (...words: string[]) => {
    const { code, value, error } = await smsctl(stack, ...words);
    if (code !== 0) throw new Error(error);
    return value as { id: string; secret?: string };
  };
  const { id } = await run("tenant", "create", "--name", `Other ${Date.now()}`);
  await run("wallet", "fund", "--tenant", id, "--amount", "1000");
  await run("sender-id", "add", "--tenant", id, "--name", "OTHER", "--approve");
  const { secret } = await run("key", "create", "--tenant", id);
  return secret ?? "";
}

async function queueBulk(): Promise<void> {
  const connections = await openConnections(stack, 8);
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < COUNT / 1000) {
        next += 1;
        const { status, body } = await connection.send(bulkSend(stack, next, 1000));
        if (status !== 202) throw new Error(`refused: ${body}`);
      }
      connection.close();
    }),
  );
}

/** From acceptance to the first submit's answer, as the message's own history says. */
async function sentAfterMs(apiKey: string, count: number): Promise<number> {
  const body = { to: ordinaryRecipient(500 + count), from: "OTHER", body: "Your code is 123456." };
  const sent = await callRest(stack, "POST", "/v1/sms/messages", { body, apiKey });
  if (sent.status !== 202) throw new Error(`refused: ${JSON.stringify(sent.body)}`);
  const { id } = sent.body.data as SeenMessage;
  for (const untilMs = Date.now() + 30_000; Date.now() < untilMs; ) {
    const answer = await callRest(stack, "GET", `/v1/messages/${id}`, { apiKey });
    const history = (answer.body.data as SeenMessage).status_history ?? [];
    const at = history.find(({ status }) => status === "sent")?.occurred_at;
    if (at !== undefined) return Date.parse(at) - Date.parse(history[0]?.occurred_at ?? at);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${id} was not sent within 30 s`);
}

async function waiting(): Promise<number> {
  const response = await fetch(`${stack.ops.messaging}/sms.v1.MessagingService/GetQueueStats`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.grpc_token}`, "content-type": "application/json" },
    body: "{}",
  });
  const { queues = [] } = (await response.json()) as { queues?: { waiting?: string }[] };
  return queues.reduce((sum, queue) => sum + Number(queue.waiting ?? 0), 0);
}
