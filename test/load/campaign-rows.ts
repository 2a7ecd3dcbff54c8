/** The row `campaign`: the rate at which a campaign's messages are delivered, over that of bulk sends. */
import { MongoClient } from "mongodb";
import { pollUntil } from "../../deploy/dev/poll.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { cpuSeconds } from "./cpu.ts";
import { fetchData } from "./fetch-data.ts";
import type { Row } from "./report.ts";
import { ordinaryRecipient } from "./sends.ts";

/** Recipients of a run, and of one request. */
const COUNT = Number(process.env.BENCH_RECIPIENTS ?? 15_000);
const STEP = 1000;
/** Pairs of runs, one after the other; the machine's speed changes less within a pair. */
const PAIRS = 2;
const RUN_MAX_MS = 120_000;
const RATIO_MIN = 0.9;

/** Runs bulk sends and campaigns in turn, on one stack. */
export async function campaignFeeding(stack: StackFile): Promise<Row> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const messages = client
    .db("sms_messaging")
    .collection<{ _id: string; status: string }>("messages");
  const rates = { bulk: [] as number[], campaign: [] as number[] };
  try {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      for (const [name, prepare] of [
        ["bulk", prepareBulk],
        ["campaign", prepareCampaign],
      ] as const) {
        const start = await prepare(stack, (2 * pair + rates.campaign.length) * COUNT);
        const ofThisRun = { _id: { $gte: newId("message") }, status: "delivered" };
        const beganMs = performance.now();
        const before = cpuSeconds(stack.pids);
        await start();
        const isDone = async () => (await messages.countDocuments(ofThisRun)) >= COUNT;
        if ((await pollUntil(isDone, RUN_MAX_MS, 100)) !== true) throw new Error(`${name} is slow`);
        rates[name].push((COUNT * 1000) / (performance.now() - beganMs));
        const used = costs(before, cpuSeconds(stack.pids));
        process.stdout.write(`  ${name} ${Math.round(rates[name].at(-1) ?? 0)}/s, ${used}\n`);
      }
    }
  } finally {
    await client.close();
  }
  const [bulk, campaign] = [mean(rates.bulk), mean(rates.campaign)];
  const ratio = campaign / bulk;
  return {
    path: `campaign of ${COUNT}: delivered per second, over bulk sends of ${STEP}`,
    budget: `${RATIO_MIN * 100} %`,
    aim: "100 %",
    measured: `${Math.round(ratio * 100)} % (${Math.round(campaign)}/s, bulk ${Math.round(bulk)}/s)`,
    met: ratio >= RATIO_MIN,
    figures: { ratio, campaign, bulk },
  };
}

/** CPU microseconds per message, by process: other work on the machine moves them less than it moves a rate. */
function costs(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string {
  const each = [...after].map(([name, seconds]) => {
    const us = ((seconds - (before.get(name) ?? 0)) * 1e6) / COUNT;
    return { name, us: Math.round(us) };
  });
  const all = each.reduce((sum, { us }) => sum + us, 0);
  return `${all} µs of CPU each: ${each.map(({ name, us }) => `${name} ${us}`).join(", ")}`;
}

/** The bulk requests one after the other, as one caller sends them. */
async function prepareBulk(stack: StackFile, from: number): Promise<() => Promise<void>> {
  return async () => {
    for (let at = 0; at < COUNT; at += STEP) {
      const to = recipients(from + at);
      await post(stack, "/v1/sms/messages/bulk", { to, from: stack.sender_id, body: BODY("you") });
    }
  };
}

async function prepareCampaign(stack: StackFile, from: number): Promise<() => Promise<void>> {
  const draft = { name: "Bench", from: stack.sender_id, body: BODY("{{name}}") };
  const { id } = await post<{ id: string }>(stack, "/v1/campaigns", draft);
  for (let at = 0; at < COUNT; at += STEP) {
    const rows = recipients(from + at).map((to) => ({ to, variables: { name: "you" } }));
    await post(stack, `/v1/campaigns/${id}/recipients`, { recipients: rows });
  }
  return async () => {
    await post(stack, `/v1/campaigns/${id}/start`, {});
  };
}

const BODY = (name: string) => `The office is closed on Friday, ${name}.`;

function recipients(from: number): string[] {
  return Array.from({ length: STEP }, (_, at) => ordinaryRecipient(from + at));
}

function post<T>(stack: StackFile, path: string, body: object): Promise<T> {
  return fetchData<T>(stack, "POST", path, { body: JSON.stringify(body) });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}
