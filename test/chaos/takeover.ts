/**
 * `node test/chaos/takeover.ts [rounds]`: `kill -9` of one of two replicas during sends, and then how long the
 * other needs for what the dead one held: the last status, the last webhook and the last settlement, in seconds
 * after the kill. A killed carrier is restarted at once, as by its StatefulSet, because its journal knows what it
 * wrote; the other processes stay dead until all is done.
 */
import { SERVICE_PROCESSES, type ServiceProcess } from "../../deploy/dev/process-table.ts";
import { callRest, type SeenMessage, sendMany, waitForStatuses } from "../support/customer.ts";
import { eventually } from "../support/poll.ts";
import { smsctl } from "../support/smsctl.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const KILLED = ["none", "wallet", "webhook", "messaging", "carrier"];
const ROUNDS = Number(process.argv[2] ?? 3);
const COUNT = 600;
const LIMIT_MS = 120_000;
const FINAL = new Set(["delivered", "failed", "undelivered", "expired"]);

type Seconds = { readonly status: number; readonly webhook: number; readonly settlement: number };

const replicas = SERVICE_PROCESSES.filter(({ name }) => KILLED.includes(name)).map(secondReplica);
const stack = await startTestStack({
  processes: [...SERVICE_PROCESSES, ...replicas],
  settings: { LOG_LEVEL: "warn" },
});
try {
  const shared = await smsctl(stack, "connector", "update", "smsc", "--binds", "2");
  if (shared.code !== 0) throw new Error(shared.error);
  process.stdout.write("killed      last status  last webhook  last settlement\n");
  for (const name of KILLED) {
    const rounds: Seconds[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(stack, name));
    const worst = (part: keyof Seconds) => Math.max(...rounds.map((one) => one[part])).toFixed(1);
    process.stdout.write(
      `${name.padEnd(12)}${worst("status").padStart(11)}${worst("webhook").padStart(14)}` +
        `${worst("settlement").padStart(17)}\n`,
    );
  }
} finally {
  await stack.stop();
}

async function measure(stack: TestStack, name: string): Promise<Seconds> {
  await fetch(stack.receiver.events, { method: "DELETE" });
  let killing: Promise<void> | undefined;
  let killedMs = 0;
  const accepted = await sendMany(stack, {
    count: COUNT,
    inFlight: 32,
    keyPrefix: `takeover-${name}-${Date.now()}`,
    onAccepted(count) {
      if (count < COUNT / 2 || killing !== undefined) return;
      killedMs = Date.now();
      killing = kill(stack, name);
    },
  });
  await killing;
  const seconds = (atMs: number) => (atMs - killedMs) / 1000;

  // All three are watched at once: each takes the time that it takes.
  const [status, webhook, settlement] = await Promise.all([
    waitForStatuses(stack, accepted.keys(), FINAL, LIMIT_MS).then(lastStatusMs),
    eventually(() => lastWebhookMs(stack, accepted), {
      what: "the webhooks",
      timeoutMs: LIMIT_MS,
      everyMs: 500,
    }),
    eventually(() => settledMs(stack), {
      what: "nothing held",
      timeoutMs: LIMIT_MS,
      everyMs: 100,
    }),
  ]);
  if (name !== "none" && name !== "carrier") await stack.restart(name);
  return { status: seconds(status), webhook: seconds(webhook), settlement: seconds(settlement) };
}

async function kill(stack: TestStack, name: string): Promise<void> {
  if (name === "none") return;
  await stack.kill(name);
  if (name === "carrier") await stack.restart(name);
}

function lastStatusMs(seen: ReadonlyMap<string, SeenMessage>): number {
  const ends = [...seen.values()].map((message) => {
    if (message.status !== "delivered") throw new Error(`${message.id} is ${message.status}`);
    return Date.parse(message.status_history?.at(-1)?.occurred_at ?? "");
  });
  return Math.max(...ends);
}

/** When the last webhook came; undefined until each message has its last one. */
async function lastWebhookMs(
  stack: TestStack,
  accepted: ReadonlyMap<string, string>,
): Promise<number | undefined> {
  const missing = new Set(accepted.keys());
  let lastMs = 0;
  const url = `${stack.receiver.events}?contains=delivered`;
  const list = (await (await fetch(url)).json()) as { body: string; received_at: string }[];
  for (const { body, received_at } of list) {
    const { id, status } = (
      JSON.parse(body) as { data: { object: { id: string; status: string } } }
    ).data.object;
    // A repeated webhook is not late.
    if (status !== "delivered" || !missing.delete(id)) continue;
    lastMs = Math.max(lastMs, Date.parse(received_at));
  }
  return missing.size === 0 ? lastMs : undefined;
}

async function settledMs(stack: TestStack): Promise<number | undefined> {
  const { status, body } = await callRest(stack, "GET", "/v1/balance");
  const { held } = (status === 200 ? body.data : {}) as { held?: string };
  return held === "0.0000" ? Date.now() : undefined;
}

/** The row of a second replica, with a name of its own where it needs one. */
function secondReplica({ name, services }: ServiceProcess): ServiceProcess {
  const settings = name === "carrier" ? { CARRIER_ID: "carrier-dev-2" } : {};
  return { name: `${name}-2`, services, settings };
}
