/**
 * The wallet's figures, each against its budget, measured in one run on real processes: wallet
 * over gRPC, MongoDB with majority and journalled writes, the load from this process.
 *
 * `node test/load/bench-wallet.ts [--json] [--seconds N]`; about 40 seconds.
 */
import { cpus } from "node:os";
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

const isJson = process.argv.includes("--json");
const secondsAt = process.argv.indexOf("--seconds");
const ROUND_MS = (secondsAt < 0 ? 3 : Number(process.argv[secondsAt + 1])) * 1000;
const ACTOR = { name: "bench", address: "127.0.0.1" };

type Figure = {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly budget: number;
  readonly better: "more" | "less";
};

/** What a call answers that is not to be counted. */
const FAILED = Symbol("failed");

type Rate = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number };

/** Runs `callers` loops of `call` for a while; each call counts `weight` holds. */
async function rateOf(
  callers: number,
  weight: number,
  call: () => Promise<unknown>,
  durationMs = ROUND_MS,
): Promise<Rate> {
  const latencies: number[] = [];
  const startedMs = performance.now();
  const endMs = startedMs + durationMs;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < endMs) {
        const sentMs = performance.now();
        if ((await call()) !== FAILED) latencies.push(performance.now() - sentMs);
      }
    }),
  );
  const tookMs = performance.now() - startedMs;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0;
  return {
    perSecond: (latencies.length * weight * 1000) / tookMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

function holdOf(tenantId: string) {
  const reservationId = newId("reservation");
  const messageId = newId("message");
  return {
    tenantId,
    reservationId,
    amount: 40_000n,
    messageCount: 1,
    firstMessageId: messageId,
    lastMessageId: messageId,
  };
}

const placeOne = (client: WalletClient, tenantId: string) => () =>
  client.placeHold(holdOf(tenantId));

const placeMany = (client: WalletClient, tenantId: string, size: number) => async () => {
  const { outcomes } = await client.placeHolds({
    holds: Array.from({ length: size }, () => holdOf(tenantId)),
  });
  if (outcomes.some(({ errorCode }) => errorCode !== "")) throw new Error("a hold was refused");
};

async function newTenant(client: WalletClient): Promise<string> {
  const tenantId = newId("tenant");
  await client.createWallet({ tenantId, currency: "NGN" });
  await client.fundWallet({ tenantId, amount: 10n ** 15n, reference: "bench", actor: ACTOR });
  return tenantId;
}

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
        const { changes } = decide(view, [{ kind: "hold", ...hold }], context);
        if (changes !== undefined) await tx.save([changes]);
      })
      // With many callers some never get their turn.
      .catch(() => FAILED);
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
  await rateOf(16, 50, placeMany(one, hot, 50), 1000);

  const lone = await rateOf(1, 1, placeOne(one, hot));
  const singles = await rateOf(64, 1, placeOne(one, hot));
  const batch = await rateOf(8, 500, placeMany(one, hot, 500));
  // Conflicts stop the naive way from gaining by more callers, so it gets its better figure.
  const naiveOne = await rateOf(1, 1, placeNaively(harness, await newTenant(one)));
  const naiveMany = await rateOf(64, 1, placeNaively(harness, await newTenant(one)));
  const naive = naiveOne.perSecond > naiveMany.perSecond ? naiveOne : naiveMany;
  const alone = await rateOf(48, 20, placeMany(one, hot, 20));
  const together = await rateOf(48, 20, placeMany(all, hot, 20));

  const cold = await Promise.all(Array.from({ length: 8 }, () => newTenant(one)));
  let turn = 0;
  const placeCold = () => {
    turn = (turn + 1) % cold.length;
    return placeOne(one, cold[turn] ?? "")();
  };
  const calm = await rateOf(8, 1, placeCold);
  const [besideHot] = await Promise.all([
    rateOf(8, 1, placeCold),
    rateOf(64, 1, placeOne(one, hot)),
  ]);
  const many = await Promise.all(Array.from({ length: 100 }, () => newTenant(one)));
  const spread = await rateOf(256, 1, () => {
    turn = (turn + 1) % many.length;
    return placeOne(one, many[turn] ?? "")();
  });
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
    figure("one replica, 48 callers", alone.perSecond, "/s", "more", 0),
    figure("3 replicas ÷ one", together.perSecond / alone.perSecond, "×", "more", 0.7),
    figure("single holds, 256 callers, 100 wallets", spread.perSecond, "/s", "more", 3000),
    figure("calm tenants' hold p50", calm.p50Ms, "ms", "less", 15),
    figure("beside a hot tenant ÷ calm, p50", besideHot.p50Ms / calm.p50Ms, "×", "less", 2),
  ];
}

function print(figures: readonly Figure[]): void {
  const cpu = cpus()[0]?.model ?? "unknown";
  if (isJson) {
    const machine = { cpu, cores: cpus().length, node: process.version };
    process.stdout.write(`${JSON.stringify({ machine, figures })}\n`);
    return;
  }
  process.stdout.write(`${cpus().length} × ${cpu}, Node ${process.version}\n`);
  for (const { name, value, unit, budget, better } of figures) {
    const isGood = better === "more" ? value >= budget : value <= budget;
    const shown = value >= 100 ? value.toFixed(0) : value.toFixed(1);
    const wanted = budget === 0 ? "" : `${better === "more" ? "≥" : "≤"} ${budget} ${unit}`;
    const verdict = isGood ? "" : "  MISSED";
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
} finally {
  await Promise.all(replicas.map((replica) => replica.stop()));
  await harness.close();
  await servers.stop();
}
