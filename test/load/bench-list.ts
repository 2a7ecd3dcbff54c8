/**
 * `make bench-list [COUNT=10000000]`: pages of 50 over REST among many stored messages, for each
 * filter. Seeds a stack of its own first, or measures `BENCH_STACK` as it is.
 */
import { availableParallelism } from "node:os";
import { MongoClient } from "mongodb";
import { driveClosed } from "./drive.ts";
import { HISTORY_DAYS, pastRecipient, seedHistory } from "./history.ts";
import { getRequest } from "./http-client.ts";
import { type Row, report } from "./report.ts";
import { openConnections } from "./sends.ts";
import { loadStack } from "./stack.ts";

/** The size of the budget: fewer messages fit into memory and prove nothing. */
const COUNT_OF_BUDGET = 10_000_000;
const COUNT = Number(process.env.COUNT ?? COUNT_OF_BUDGET);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const DAY_MS = 86_400_000;
/** A page's length. */
const PAGE = 50;
/** As many as the machine has cores: more would measure how long they wait for each other. */
const CALLERS = availableParallelism();

const { stack, stop } = await loadStack();
try {
  const count = await withMessages();
  const rows: Row[] = [];
  for (const filter of filters()) rows.push(await measure(...filter, count));
  report("bench-list", rows);
} finally {
  await stop();
}

/** Stores the history, except in a foreign stack; returns the number of messages. */
async function withMessages(): Promise<number> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  try {
    if (process.env.BENCH_STACK !== undefined) {
      return await client.db("sms_messaging").collection("messages").estimatedDocumentCount();
    }
    await fill(client);
    return COUNT;
  } finally {
    await client.close();
  }
}

async function fill(client: MongoClient): Promise<void> {
  const startedMs = performance.now();
  await seedHistory(client, { tenantId: stack.tenant_id, senderId: stack.sender_id, count: COUNT });
  // Measure pages on stored history, after the write-back of the seeded data.
  await client.db("admin").command({ fsync: 1 });
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  process.stdout.write(`${COUNT} messages seeded in ${seconds} s\n`);
}

/**
 * Each filter, asked for a window that differs from call to call; the last word says whether the history
 * fills its pages. One recipient has a few messages in a window, one reference hardly any.
 */
function filters(): [string, () => URLSearchParams, "full" | "few" | "none"][] {
  const window = () => {
    const beforeMs = Date.now() - Math.random() * (HISTORY_DAYS - 10) * DAY_MS;
    return {
      created_after: new Date(beforeMs - 7 * DAY_MS).toISOString(),
      created_before: new Date(beforeMs).toISOString(),
    };
  };
  const any = () => Math.floor(Math.random() * 1_000_000);
  const ask = (more: () => Record<string, string>) => () =>
    new URLSearchParams({ ...window(), ...more() });
  return [
    ["no filter", ask(() => ({})), "full"],
    ["status=failed", ask(() => ({ status: "failed" })), "full"],
    ["from", ask(() => ({ from: "history" })), "full"],
    ["to", ask(() => ({ to: pastRecipient(any()) })), "few"],
    ["client_reference", ask(() => ({ client_reference: `past-${any()}` })), "few"],
    ["source=quick_send", ask(() => ({ source: "quick_send" })), "full"],
    // The only other status that the history has from this sender.
    ["status and from", ask(() => ({ status: "undelivered", from: "history" })), "full"],
    ["campaign_id", ask(() => ({ campaign_id: "cmp_01ARZ3NDEKTSV4RRFFQ69G5FAV" })), "none"],
  ];
}

async function measure(
  name: string,
  query: () => URLSearchParams,
  pages: "full" | "few" | "none",
  count: number,
): Promise<Row> {
  const among = count.toLocaleString("en");
  const connections = await openConnections(stack, CALLERS);
  const url = new URL(stack.gateway);
  const headers = { Authorization: `Bearer ${stack.api_key}` };
  const found = { pages: 0, messages: 0 };
  const { p50Ms, p99Ms, failed, perSecond } = await driveClosed({
    callers: connections.length,
    warmupMs: 1000,
    measureMs: SECONDS * 1000,
    work: async (caller) => {
      const request = getRequest(url, `/v1/messages?${query()}`, headers);
      const answer = await connections[caller]?.send(request);
      if (answer?.status !== 200) return false;
      found.pages += 1;
      found.messages += answer.body.split('"id":"msg_').length - 1;
      return true;
    },
  });
  for (const connection of connections) connection.close();
  const each = found.messages / found.pages;
  const isAsMeant = pages === "full" ? each === PAGE : pages === "few" ? each > 0 : each === 0;
  return {
    path: `list page of ${PAGE} of ${among}, ${name}${pages === "none" ? " (of none)" : ""}`,
    budget: "p99 50 ms",
    aim: "p99 15 ms",
    measured:
      `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms ` +
      `(${Math.round(perSecond)}/s, ${each.toFixed(1)} a page, ${failed} failed)`,
    met: p99Ms <= 50 && failed === 0 && isAsMeant,
    ...(count >= COUNT_OF_BUDGET ? {} : { notChecked: `not checked at ${among}` }),
    figures: { p50Ms, p99Ms, perSecond, failed, each },
  };
}
