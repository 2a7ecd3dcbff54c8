/** The benchmark's row `campaign`: the delivery rate of a campaign divided by the rate of bulk sends. */
import { MongoClient } from "mongodb";
import { pollUntil } from "../../deploy/dev/poll.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { cpuSeconds } from "./cpu.ts";
import { fetchData } from "./fetch-data.ts";
import type { Row } from "./report.ts";
import { ordinaryRecipient } from "./sends.ts";
import { spreadOf } from "./spread.ts";

/** Recipients of a run, and of one request. */
const COUNT = Number(process.env.BENCH_RECIPIENTS ?? 15_000);
const STEP = 1000;
/** Pairs of runs; the first one, which is short, warms the processes up. */
const PAIRS = Number(process.env.BENCH_PAIRS ?? 5);
const WARM_UP_COUNT = 3000;
const RUN_MAX_MS = 300_000;
const POLL_MS = 1000;
const RATIO_MIN = 0.9;

const KINDS = { bulk: prepareBulk, campaign: prepareCampaign };
type Kind = keyof typeof KINDS;

/**
 * Runs bulk sends and campaigns in turn, on one stack. The machine's speed changes less within a pair than between
 * pairs, so the median of the pairs' ratios counts; either kind is the first of its pair in turn.
 */
export async function campaignFeeding(stack: StackFile): Promise<Row> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const messages = client
    .db("sms_messaging")
    .collection<{ _id: string; status: string; completed_at: Date }>("messages");
  let place = 0;

  /** Messages delivered per second. */
  async function measure(kind: Kind, count: number): Promise<number> {
    const start = await KINDS[kind](stack, { from: place, count });
    place += count;
    const ofThisRun = { _id: { $gte: newId("message") }, status: "delivered" };
    const beganMs = Date.now();
    const before = cpuSeconds(stack.pids);
    await start();
    // Each count costs MongoDB some milliseconds, so they are few, and the messages tell when the last one ended.
    const isDone = async () => (await messages.countDocuments(ofThisRun)) >= count;
    if ((await pollUntil(isDone, RUN_MAX_MS, POLL_MS)) !== true) throw new Error(`${kind} is slow`);
    const last = messages.find(ofThisRun).sort({ completed_at: -1 }).limit(1);
    const endedMs = (await last.next())?.completed_at.getTime() ?? Date.now();
    const rate = (count * 1000) / (endedMs - beganMs);
    await untilSettled(stack);
    const used = costs(before, cpuSeconds(stack.pids), count);
    process.stdout.write(`  ${kind} ${Math.round(rate)}/s, ${used}\n`);
    return rate;
  }

  const rates = { bulk: [] as number[], campaign: [] as number[] };
  const ratios: number[] = [];
  try {
    for (const kind of ["bulk", "campaign"] as const) await measure(kind, WARM_UP_COUNT);
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const kinds = ["bulk", "campaign"] as const;
      const ofPair = { bulk: 0, campaign: 0 };
      for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed()) {
        ofPair[kind] = await measure(kind, COUNT);
        rates[kind].push(ofPair[kind]);
      }
      ratios.push(ofPair.campaign / ofPair.bulk);
    }
  } finally {
    await client.close();
  }
  const [bulk, campaign, ratio] = [rates.bulk, rates.campaign, ratios].map(
    (values) => spreadOf(values).median,
  ) as [number, number, number];
  const each = ratios.map((one) => `${Math.round(one * 100)}`).join(", ");
  return {
    path: `campaign of ${COUNT}: delivered per second, over bulk sends of ${STEP}, median of ${PAIRS}`,
    budget: `${RATIO_MIN * 100} %`,
    aim: "100 %",
    measured: `${Math.round(ratio * 100)} % of ${each} (${Math.round(campaign)}/s, bulk ${Math.round(bulk)}/s)`,
    met: ratio >= RATIO_MIN,
    figures: { ratio, campaign, bulk },
  };
}

/** Waits until the wallet has settled every message, so that one run's last work is not done in the next one. */
async function untilSettled(stack: StackFile): Promise<void> {
  const isSettled = async () => {
    const { held } = await fetchData<{ held: string }>(stack, "GET", "/v1/balance");
    return Number(held) === 0;
  };
  if ((await pollUntil(isSettled, RUN_MAX_MS, 100)) !== true) throw new Error("holds stay open");
}

/** CPU microseconds per message, by process: other work on the machine moves them less than it moves a rate. */
function costs(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  count: number,
): string {
  const each = [...after].map(([name, seconds]) => {
    const us = ((seconds - (before.get(name) ?? 0)) * 1e6) / count;
    return { name, us: Math.round(us) };
  });
  const all = each.reduce((sum, { us }) => sum + us, 0);
  return `${all} µs of CPU each: ${each.map(({ name, us }) => `${name} ${us}`).join(", ")}`;
}

type Recipients = { readonly from: number; readonly count: number };

/** The bulk requests one after the other, as one caller sends them. */
async function prepareBulk(
  stack: StackFile,
  { from, count }: Recipients,
): Promise<() => Promise<void>> {
  return async () => {
    for (let at = 0; at < count; at += STEP) {
      const to = recipients(from + at);
      await post(stack, "/v1/sms/messages/bulk", { to, from: stack.sender_id, body: BODY("you") });
    }
  };
}

async function prepareCampaign(
  stack: StackFile,
  { from, count }: Recipients,
): Promise<() => Promise<void>> {
  const draft = { name: "Bench", from: stack.sender_id, body: BODY("{{name}}") };
  const { id } = await post<{ id: string }>(stack, "/v1/campaigns", draft);
  for (let at = 0; at < count; at += STEP) {
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
