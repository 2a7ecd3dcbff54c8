/**
 * `make bench-steady [RATE=900] [SECONDS=15] [TURNS=2]`: single sends at a steady rate on a fresh
 * stack, again and again: what a message costs in CPU, by process, how late the last one was
 * settled, and how late the slowest were accepted. `make profile` tells what the largest batches
 * cost; at a steady rate they are smaller. The first turn is that of a stack just started.
 */
import { cpuSeconds } from "./cpu.ts";
import { type EndToEnd, WARM_UP_S } from "./end-to-end.ts";
import { measureOurEndToEnd } from "./our-end-to-end.ts";
import { printTable } from "./report.ts";
import { loadStack } from "./stack.ts";

const RATE = Number(process.env.RATE ?? 900);
const SECONDS = Number(process.env.SECONDS ?? 15);
const TURNS = Number(process.env.TURNS ?? 2);

const { stack, stop } = await loadStack();
try {
  const turns: Turn[] = [];
  for (let turn = 1; turn <= TURNS; turn += 1) turns.push(await measure());
  const processes = [...new Set(turns.flatMap(({ costs }) => [...costs.keys()]))];
  printTable([
    [`${RATE}/s`, ...turns.map((_, at) => `turn ${at + 1}`)],
    ...processes.map((name) => [name, ...turns.map(({ costs }) => us(costs.get(name) ?? 0))]),
    ["all", ...turns.map(({ costs }) => us([...costs.values()].reduce((a, b) => a + b, 0)))],
    ["last settled after", ...turns.map(({ tailS }) => `${tailS.toFixed(2)} s`)],
    ["accept p99", ...turns.map(({ acceptP99Ms }) => `${acceptP99Ms.toFixed(0)} ms`)],
    ["refused, not ended", ...turns.map(({ refused, open }) => `${refused}, ${open}`)],
  ]);
  if (turns.some(({ refused, open }) => refused + open > 0)) process.exitCode = 1;
} finally {
  await stop();
}

/** The result of one round. */
type Turn = Pick<EndToEnd, "tailS" | "acceptP99Ms" | "refused"> & {
  /** CPU microseconds per message, by process. */
  readonly costs: ReadonlyMap<string, number>;
  /** Messages that did not come to their end. */
  readonly open: number;
};

/** One turn; CPU microseconds per message sent, the short run before it among them. */
async function measure(): Promise<Turn> {
  const before = cpuSeconds(stack.pids);
  const generatorBefore = process.cpuUsage();
  const run = await measureOurEndToEnd(stack, { perSecond: RATE, seconds: SECONDS });
  const after = cpuSeconds(stack.pids);
  const generator = process.cpuUsage(generatorBefore);
  const sent = RATE * (SECONDS + WARM_UP_S);
  const costs = new Map<string, number>();
  for (const [name, seconds] of after) {
    costs.set(name, ((seconds - (before.get(name) ?? 0)) * 1e6) / sent);
  }
  costs.set("(load generator)", (generator.user + generator.system) / sent);
  const { tailS, acceptP99Ms, refused, wanted, done } = run;
  return { costs, tailS, acceptP99Ms, refused, open: wanted - done };
}

function us(value: number): string {
  return `${value.toFixed(0)} µs`;
}
