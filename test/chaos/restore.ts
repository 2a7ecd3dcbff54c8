/**
 * `make test-restore`: a backup while messages flow, the loss of all data, a restore by the runbook. The
 * messages accepted before the backup exist and end as they should; pending webhooks, in the database or
 * the stream, reach the customer; nothing is sent twice; `smsctl check` is clean.
 */
import { join } from "node:path";
import { callRest, type SeenMessage, sendMany, waitForStatuses } from "../support/customer.ts";
import { readCounters } from "../support/simulator-control.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import {
  disaster,
  end,
  MONGO_BACKUPS,
  type MongoBackup,
  restoreAll,
  takeBackup,
} from "./restore-steps.ts";
import { type Breaches, checkBooks, collectWebhooks } from "./rolling-checks.ts";
import type { LoadRecord } from "./rolling-load.ts";

const DELIVERED: ReadonlySet<string> = new Set(["delivered"]);
const WAIT_MS = 60_000;
/** The allowed final statuses of a message sent during the backup. */
const FLOWED = /^(absent|delivered|sent|cancelled cancelled|failed submission_unknown)$/;

let failures = 0;
for (const mongo of MONGO_BACKUPS) {
  const missing = await mongo.missing();
  if (missing !== undefined) {
    process.stdout.write(`skipped  ${mongo.name}: ${missing}\n`);
    continue;
  }
  const breaches = await restored(mongo);
  failures += breaches.length;
  process.stdout.write(`${breaches.length === 0 ? "ok      " : "NOT OK  "} ${mongo.name}\n`);
  for (const breach of breaches) process.stdout.write(`  ${breach}\n`);
}
process.exitCode = failures === 0 ? 0 : 1;

async function restored(mongo: MongoBackup): Promise<Breaches> {
  const stack = await startTestStack({
    settings: {
      ...{ LOG_LEVEL: "info", ACCESS_LOG: "false" },
      WEBHOOK_RETRY_DELAYS_MS: "2000,4000,8000,16000,16000,16000,16000,16000",
      ...{ SUBMISSION_UNKNOWN_WAIT_MS: "5000", SETTLEMENT_GRACE_MS: "5000" },
    },
  });
  try {
    return await loseAndRestore(stack, mongo);
  } finally {
    await stack.stop();
  }
}

async function loseAndRestore(stack: TestStack, mongo: MongoBackup): Promise<Breaches> {
  const folder = join(stack.dir, "backup");
  const reported = await sendAndWait(stack, "reported", 0, 300);
  await end(stack, "receiver");
  const pending = await sendAndWait(stack, "pending", 1000, 40);
  await end(stack, "webhook");
  const streamed = await sendAndWait(stack, "streamed", 2000, 60);
  const flowing = sendMany(stack, {
    ...{ count: 300, inFlight: 8, firstRecipient: 3000, keyPrefix: "flowing" },
  });
  await takeBackup(stack, mongo, folder);
  const flowed = await flowing;
  const late = await sendAndWait(stack, "late", 4000, 20);

  await disaster(stack, ["webhook"]);
  await stack.restart("receiver");
  const webhooks = collectWebhooks(stack);
  const cancelled = await restoreAll(stack, mongo, folder);

  const kept = new Map([...reported, ...pending, ...streamed]);
  const found = await waitForStatuses(stack, kept.keys(), DELIVERED, WAIT_MS);
  const absent = [...kept.keys()].filter((id) => found.get(id)?.status !== "delivered");
  const breaches = absent.map((id) => `${id}: ${found.get(id)?.status ?? "lost"}`);
  const ends = await endsOf(stack, flowed);
  for (const end of ends.keys()) if (!FLOWED.test(end)) breaches.push(`flowing: ${end}`);
  const ghosts = await endsOf(stack, late);
  if (ghosts.get("absent") !== late.size) breaches.push(`after the backup: ${text(ghosts)}`);
  breaches.push(...(await webhooks.check(asMessages(new Map([...pending, ...streamed])))));
  breaches.push(...(await checkSubmits(stack, kept, new Map([...flowed, ...late]))));
  breaches.push(...(await checkBooks(stack, kept.size)));
  process.stdout.write(
    `${kept.size} messages from before the backup, ${pending.size + streamed.size} of them with ` +
      `webhooks to come; during it: ${text(ends)}; ${cancelled} cancelled; ${late.size} after it\n`,
  );
  return breaches;
}

async function sendAndWait(
  stack: TestStack,
  keyPrefix: string,
  firstRecipient: number,
  count: number,
): Promise<Map<string, string>> {
  const sent = await sendMany(stack, { count, inFlight: 16, firstRecipient, keyPrefix });
  const seen = await waitForStatuses(stack, sent.keys(), DELIVERED, WAIT_MS);
  const delivered = [...seen.values()].filter(({ status }) => status === "delivered");
  if (delivered.length !== count) throw new Error(`${keyPrefix}: not all were delivered`);
  return sent;
}

/** Counts messages by status, after those with unknown submits have ended. */
async function endsOf(
  stack: TestStack,
  messages: ReadonlyMap<string, string>,
): Promise<Map<string, number>> {
  const untilMs = Date.now() + WAIT_MS;
  for (;;) {
    const ends = new Map<string, number>();
    for (const id of messages.keys()) {
      const { status, body } = await callRest(stack, "GET", `/v1/messages/${id}`);
      const message = body.data as SeenMessage | undefined;
      const end = status === 404 ? "absent" : `${message?.status} ${message?.error?.code ?? ""}`;
      ends.set(end.trim(), (ends.get(end.trim()) ?? 0) + 1);
    }
    if (!ends.has("queued") || Date.now() > untilMs) return ends;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** Every delivered message was submitted once: no handset gets a message twice. */
async function checkSubmits(
  stack: TestStack,
  delivered: ReadonlyMap<string, string>,
  others: ReadonlyMap<string, string>,
): Promise<Breaches> {
  const { submits } = await readCounters(stack.smsc.control);
  return [...delivered, ...others].flatMap(([id, to]) => {
    const total = submits[to.slice(1)]?.total ?? 0;
    const isWrong = total > 1 || (total === 0 && delivered.has(id));
    return isWrong ? [`${id}: submitted ${total} times`] : [];
  });
}

function asMessages(sent: ReadonlyMap<string, string>): LoadRecord["messages"] {
  return new Map([...sent].map(([id, to]) => [id, { to, end: "delivered" as const }]));
}

function text(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([what, count]) => `${count} ${what}`).join(", ");
}
