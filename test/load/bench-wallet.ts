/**
 * The wallet's figures, each against its budget, measured in one run on real processes: wallet
 * over gRPC, MongoDB with majority and journalled writes, the load from this process. Callers whose
 * latency is the figure while others press hard call from a process of their own, so that the time
 * the load generator takes is not counted as the wallet's.
 *
 * `node test/load/bench-wallet.ts [--json] [--seconds N]`; about a minute.
 */
import { execFile } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newId } from "../../services/shared/core/ids.ts";
import { decide } from "../../services/wallet/domain/decide.ts";
import { freshDatabase } from "../support/fresh-names.ts";
import { startServers } from "../support/servers.ts";
import { openWallet, type WalletHarness } from "../support/wallet-harness.ts";
import {
  connectWallet,
  startWallet,
  type WalletClient,
  type WalletProcess,
} from "../support/wallet-process.ts";
import { failUnlessMet } from "./report.ts";
import {
  FAILED,
  holdOf,
  newTenant,
  placeMany,
  placeOne,
  type Rate,
  rateFor,
  rateUntil,
} from "./wallet-calls.ts";

const run = promisify(execFile);
const CALM_CALLERS = fileURLToPath(new URL("./wallet-single-callers.ts", import.meta.url));

const isJson = process.argv.includes("--json");
const secondsAt = process.argv.indexOf("--seconds");
const ROUND_MS = (secondsAt < 0 ? 3 : Number(process.argv[secondsAt + 1])) * 1000;

type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly budget: number;
  readonly better: "more" | "less";
};

/** Comparisons are made this often, in turns. */
const TURNS = 3;

const WARM_UP_MS = 1500;

const rateOf = (callers: number, weight: number, call: () => Promise<unknown>) =>
  rateFor(ROUND_MS, callers, weight, call);

/** The plain way: the same decision and the same writes, one transaction per hold. */
function placeNaively({ store }: WalletHarness, tenantId: string) {
  return () =>
    store
      .transact([tenantId], async (tx) => {
        const { tenantId: _, ...hold } = holdOf(tenantId);
        const needs = { reservationIds: [hold.reservationId], messageIds: [], references: [] };
        const context = { nowMs: Date.now(), newId };
        const view = (await tx.load(new Map([[tenantId, needs]]))).get(tenantId);
        if (view === undefined) throw new Error("no such wallet");
        const { changes } = decide(view, [{ kind: "hold", campaignId: "", ...hold }], context);
        if (changes !== undefined) await tx.save([changes]);
      })
      // With many callers some never get their turn.
      .catch(() => FAILED);
}

/** Callers with light load, in their own process, during `press`. */
async function measureCalm(
  target: string,
  press?: (isOver: () => boolean) => Promise<unknown>,
): Promise<Rate> {
  let isOver = false;
  const pressing = press?.(() => isOver);
  try {
    const { stdout } = await run(process.execPath, [CALM_CALLERS, target, String(ROUND_MS)]);
    return JSON.parse(stdout) as Rate;
  } finally {
    isOver = true;
    await pressing;
  }
}

/** How much faster three replicas are than one on one wallet, and the rate of that one. */
async function measureReplicas(one: WalletClient, all: WalletClient, hot: string) {
  let alone = 0;
  let together = 0;
  // Alternate, so that other work of the machine affects both.
  for (let turn = 0; turn < TURNS; turn += 1) {
    alone += (await rateOf(48, 20, placeMany(one, hot, 20))).perSecond;
    together += (await rateOf(48, 20, placeMany(all, hot, 20))).perSecond;
  }
  return { alone: alone / TURNS, ratio: together / alone };
}

/** How much a hot tenant slows others on its replica, and how fast they are without it. */
async function measureFairness(one: WalletClient, target: string, hot: string) {
  const calm: number[] = [];
  const beside: number[] = [];
  const press = (isOver: () => boolean) => rateUntil(64, 1, placeOne(one, hot), isOver);
  for (let turn = 0; turn < TURNS; turn += 1) {
    calm.push((await measureCalm(target)).p50Ms);
    beside.push((await measureCalm(target, press)).p50Ms);
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  return { calmMs: median(calm), ratio: median(beside) / median(calm) };
}

async function measure(
  harness: WalletHarness,
  replicas: readonly WalletProcess[],
): Promise<Figure[]> {
  const [first] = replicas;
  if (first === undefined) throw new Error("no wallet runs");
  const one = connectWallet(first.target);
  const all = connectWallet(...replicas.map(({ target }) => target));
  const hot = await newTenant(one);
  // Every replica runs warmed-up code before anything is measured.
  for (const { target } of replicas) {
    const client = connectWallet(target);
    await rateFor(WARM_UP_MS, 16, 50, placeMany(client, hot, 50));
    await rateFor(WARM_UP_MS, 16, 1, placeOne(client, hot));
    client.closeChannel();
  }

  const lone = await rateOf(1, 1, placeOne(one, hot));
  const singles = await rateOf(64, 1, placeOne(one, hot));
  const batch = await rateOf(8, 500, placeMany(one, hot, 500));
  // Conflicts stop the naive way from gaining by more callers, so it gets its better figure.
  const naiveOne = await rateOf(1, 1, placeNaively(harness, await newTenant(one)));
  const naiveMany = await rateOf(64, 1, placeNaively(harness, await newTenant(one)));
  const naive = naiveOne.perSecond > naiveMany.perSecond ? naiveOne : naiveMany;
  if (naive.perSecond === 0) throw new Error("the naive way placed no hold: it is no measure");
  const replicated = await measureReplicas(one, all, hot);
  const fairness = await measureFairness(one, first.target, hot);
  const many = await Promise.all(Array.from({ length: 100 }, () => newTenant(one)));
  const spread = await rateOf(256, 1, placeOne(one, ...many));
  one.closeChannel();
  all.closeChannel();
  const figure = (
    name: string,
    value: number,
    unit: string,
    better: Figure["better"],
    budget: number,
  ): Figure => ({ name, value, unit, budget, better });
  return [
    figure("batch holds on one hot wallet", batch.perSecond, "/s", "more", 10_000),
    figure("single holds, 64 callers, one hot wallet", singles.perSecond, "/s", "more", 3000),
    figure("  their p99", singles.p99Ms, "ms", "less", 100),
    figure("naive transaction per hold, best of 1 and 64", naive.perSecond, "/s", "more", 0),
    figure("single holds ÷ naive", singles.perSecond / naive.perSecond, "×", "more", 10),
    figure("lone hold p50", lone.p50Ms, "ms", "less", 15),
    figure("lone hold p99", lone.p99Ms, "ms", "less", 15),
    figure("one replica, 48 callers", replicated.alone, "/s", "more", 0),
    figure("3 replicas ÷ one", replicated.ratio, "×", "more", 0.7),
    figure("single holds, 256 callers, 100 wallets", spread.perSecond, "/s", "more", 3000),
    figure("calm tenants' hold p50", fairness.calmMs, "ms", "less", 15),
    figure("beside a hot tenant ÷ calm, p50", fairness.ratio, "×", "less", 2),
  ];
}

function isMet({ value, budget, better }: Figure): boolean {
  return better === "more" ? value >= budget : value <= budget;
}

function print(figures: readonly Figure[]): void {
  const cpu = cpus()[0]?.model ?? "unknown";
  if (isJson) {
    const machine = { cpu, cores: cpus().length, node: process.version };
    process.stdout.write(`${JSON.stringify({ machine, figures })}\n`);
    return;
  }
  process.stdout.write(`${cpus().length} × ${cpu}, Node ${process.version}\n`);
  for (const figure of figures) {
    const { name, value, unit, budget, better } = figure;
    const shown = value.toFixed(unit === "×" ? 2 : value >= 100 ? 0 : 1);
    const wanted = budget === 0 ? "" : `${better === "more" ? "≥" : "≤"} ${budget} ${unit}`;
    const verdict = isMet(figure) ? "" : "  MISSED";
    const line = `${name.padEnd(46)}${shown.padStart(8)} ${unit.padEnd(3)} ${wanted}${verdict}`;
    process.stdout.write(`${line}\n`);
  }
}

const servers = await startServers();
const prefix = freshDatabase("bench");
const harness = await openWallet(servers, { database: `${prefix}_wallet` });
const replicas = await Promise.all([1, 2, 3].map(() => startWallet(servers, prefix)));
try {
  const figures = await measure(harness, replicas);
  const breaches = await harness.breaches();
  if (breaches.length > 0) throw new Error(`the books do not balance: ${breaches.join("\n")}`);
  print(figures);
  failUnlessMet(figures.map((figure) => ({ budget: String(figure.budget), met: isMet(figure) })));
} finally {
  await Promise.all(replicas.map((replica) => replica.stop()));
  await harness.close();
  await servers.stop();
}
