/**
 * `make bench [ROWS=lone,e2e,flood,campaign,accept,bulk,holds,memory,list,webhook,smpp,rate]`: every row of the
 * design's budgets on this machine, beside the peer of the row where it has one and the peer is
 * installed. Rows on the accept path share a stack of their own, laid out as `make up` does it; rows
 * that are a benchmark of their own run here in a short form, and each names its command.
 * BENCH_SECONDS is the length of one measurement (8), BENCH_RATE what the flood offers.
 */
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { kannelMissing } from "../support/kannel.ts";
import { campaignFeeding } from "./campaign-rows.ts";
import { setConnector } from "./connector-state.ts";
import { flood, heldRate } from "./end-to-end-rows.ts";
import { measureHotWallet } from "./hot-wallet.ts";
import { kannelAcceptPeer } from "./kannel-rows.ts";
import { ACCEPT_CONNECTIONS, measureLone, measureOurAccept, measureOurBulk } from "./our-accept.ts";
import { OWN_COMMANDS, type OwnCommand, runOwnCommand } from "./own-commands.ts";
import { type Row, report } from "./report.ts";
import { loadStack } from "./stack.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const RATE = Number(process.env.BENCH_RATE ?? 2500);
const BULK = 1000;
const WANTED = new Set(process.env.ROWS?.split(",") ?? []);

/** Rows measured on the shared stack, in this order: the later ones leave a queue behind. */
const ON_THE_STACK: readonly (readonly [string, (stack: StackFile) => Promise<Row>])[] = [
  ["lone", lone],
  ["e2e", heldRate],
  ["flood", (stack) => flood(stack, { perSecond: RATE, seconds: SECONDS })],
  ["campaign", campaignFeeding],
  ["accept", acceptSingle],
  ["bulk", acceptBulk],
  ["holds", hotWallet],
];

/** Rows whose messages stay in the queue: with the connector standing still nothing else runs. */
const PAUSED = new Set(["accept", "bulk", "holds"]);

const known = new Set([...ON_THE_STACK.map(([name]) => name), ...Object.keys(OWN_COMMANDS)]);
const unknown = [...WANTED].filter((name) => !known.has(name));
if (unknown.length > 0) throw new Error(`no such row: ${unknown.join(", ")}`);
const rows = [...(await onTheStack()), ...(await ownCommands())];
report("bench", rows);

function isWanted(name: string): boolean {
  return WANTED.size === 0 || WANTED.has(name);
}

async function onTheStack(): Promise<Row[]> {
  const wanted = ON_THE_STACK.filter(([name]) => isWanted(name));
  if (wanted.length === 0) return [];
  const missing = kannelMissing();
  if (missing !== undefined) process.stdout.write(`no peer: ${missing}\n`);
  const { stack, stop } = await loadStack();
  const found: Row[] = [];
  try {
    let isPaused = false;
    for (const [name, measure] of wanted) {
      if (PAUSED.has(name) && !isPaused) {
        await setConnector(stack, ConnectorState.PAUSED);
        isPaused = true;
      }
      process.stdout.write(`${name}\n`);
      found.push({ command: `make bench ROWS=${name}`, ...(await measure(stack)) });
    }
    if (isPaused) await setConnector(stack, ConnectorState.ACTIVE);
  } finally {
    await stop();
  }
  return found;
}

async function ownCommands(): Promise<Row[]> {
  const found: Row[] = [];
  for (const [name, own] of Object.entries<OwnCommand>(OWN_COMMANDS)) {
    if (!isWanted(name)) continue;
    process.stdout.write(`${name} (short form of ${own.command})\n`);
    found.push(...(await runOwnCommand(own)));
  }
  return found;
}

async function lone(stack: StackFile): Promise<Row> {
  const { p50Ms, p99Ms, failed } = await measureLone(stack, SECONDS);
  return {
    path: "lone request, p50 / p99",
    budget: "15 / 40 ms",
    aim: "8 / 20 ms",
    measured: `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)} ms`,
    met: p50Ms <= 15 && p99Ms <= 40 && failed === 0,
    figures: { p50Ms, p99Ms, failed },
  };
}

async function acceptSingle(stack: StackFile): Promise<Row> {
  const shape = { warmupMs: 3000, measureMs: SECONDS * 1000 };
  const { perSecond, p50Ms, p99Ms, failed } = await measureOurAccept(stack, shape);
  const peer = await kannelAcceptPeer(perSecond, { connections: ACCEPT_CONNECTIONS, ...shape });
  return {
    path: `single sends accepted, ${ACCEPT_CONNECTIONS} connections`,
    budget: "4,000/s",
    aim: "6,500/s",
    measured: `${Math.round(perSecond)}/s (p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${failed} failed)`,
    met: perSecond >= 4000 && failed === 0,
    ...(peer === undefined ? {} : { peer }),
    figures: { perSecond, p50Ms, p99Ms, failed },
  };
}

async function acceptBulk(stack: StackFile): Promise<Row> {
  const shape = { size: BULK, warmupMs: 2000, measureMs: SECONDS * 1000 };
  const { perSecond: requests, p99Ms, failed } = await measureOurBulk(stack, shape);
  const perSecond = requests * BULK;
  return {
    path: "bulk of 1,000: messages accepted",
    budget: "20,000/s",
    aim: "50,000/s",
    measured: `${Math.round(perSecond)}/s (p99 ${p99Ms.toFixed(0)} ms, ${failed} failed)`,
    met: perSecond >= 20_000 && failed === 0,
    figures: { perSecond, p99Ms, failed },
  };
}

async function hotWallet(stack: StackFile): Promise<Row> {
  const { perSecond, failed } = await measureHotWallet(stack, SECONDS);
  return {
    path: "holds on one wallet, durable",
    budget: "10,000/s",
    aim: "40,000/s",
    measured: `${Math.round(perSecond)}/s (${failed} failed)`,
    met: perSecond >= 10_000 && failed === 0,
    figures: { perSecond, failed },
  };
}
