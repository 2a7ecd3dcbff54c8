/**
 * `make bench-turns STACKS=a/stack.json,b/stack.json [ROWS=lone,accept,bulk] [ROUNDS=8]`: running stacks of two
 * versions measured in turns of a few seconds, in both orders. A machine that is faster now and slower then moves
 * both sides of a ratio alike; two runs of `make bench` one after the other differ by a third on a busy host.
 *
 * Connectors are paused, so the messages stay queued: use stacks made for this, fresh ones for each run, with the same
 * `PROCESSES` and the same MongoDB options. Also prints the CPU time of a message in each process.
 */
import { readFileSync } from "node:fs";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { setConnector } from "./connector-state.ts";
import { cpuSeconds } from "./cpu.ts";
import type { Measured } from "./drive.ts";
import { OUTSIDE } from "./message-cost.ts";
import { measureLone, measureOurAccept, measureOurBulk } from "./our-accept.ts";
import { report } from "./report.ts";
import { spreadOf } from "./spread.ts";

const TURN_MS = 4000;
const BULK_SIZE = 1000;

type Load = {
  readonly run: (stack: StackFile) => Promise<Measured>;
  /** Messages of one request. */
  readonly size: number;
  readonly unit: string;
  readonly figure: (measured: Measured) => number;
};

const TIMES = { warmupMs: 0, measureMs: TURN_MS };
const LOADS: Readonly<Record<string, Load>> = {
  lone: {
    run: (stack) => measureLone(stack, TURN_MS / 1000, 0),
    size: 1,
    unit: "ms, p50",
    figure: ({ p50Ms }) => p50Ms,
  },
  accept: {
    run: (stack) => measureOurAccept(stack, TIMES),
    size: 1,
    unit: "/s",
    figure: ({ perSecond }) => perSecond,
  },
  bulk: {
    run: (stack) => measureOurBulk(stack, { size: BULK_SIZE, ...TIMES }),
    size: BULK_SIZE,
    unit: "/s",
    figure: ({ perSecond }) => perSecond * BULK_SIZE,
  },
};

type Side = { readonly file: string; readonly stack: StackFile };
/** The figure of one turn, and the CPU microseconds of each message in each process of the stack. */
type Turn = { readonly figure: number; readonly cpuUs: ReadonlyMap<string, number> };

const { STACKS = "", ROWS = "lone,accept,bulk", ROUNDS = "8" } = process.env;
const rounds = Number(ROUNDS);
const sides: readonly Side[] = STACKS.split(",").map((file) => ({
  file,
  stack: JSON.parse(readFileSync(file, "utf8")) as StackFile,
}));
if (sides.length !== 2) throw new Error("STACKS names two files, with a comma between them");

async function measure({ file, stack }: Side, { run, size, figure }: Load): Promise<Turn> {
  const ours = Object.entries(stack.pids).filter(([process]) => !OUTSIDE.has(process));
  const before = cpuSeconds(Object.fromEntries(ours));
  const measured = await run(stack);
  const after = cpuSeconds(Object.fromEntries(ours));
  if (measured.failed > 0) throw new Error(`${file}: ${measured.failed} requests failed`);
  const messages = measured.succeeded * size;
  const perMessageUs = (process: string) =>
    (((after.get(process) ?? 0) - (before.get(process) ?? 0)) * 1e6) / messages;
  const cpuUs = new Map([...before.keys()].map((process) => [process, perMessageUs(process)]));
  return { figure: figure(measured), cpuUs };
}

function allCpuUs({ cpuUs }: Turn): number {
  return [...cpuUs.values()].reduce((sum, us) => sum + us, 0);
}

/** The median CPU microseconds of a message in each process that used any, as one line. */
function describeCpu(turns: readonly Turn[]): string {
  const processes = [...(turns[0]?.cpuUs.keys() ?? [])];
  return processes
    .map((process) => {
      const { median } = spreadOf(turns.map(({ cpuUs }) => cpuUs.get(process) ?? 0));
      return { process, median };
    })
    .filter(({ median }) => median >= 0.05)
    .map(({ process, median }) => `${process} ${median.toFixed(1)}`)
    .join(", ");
}

async function compare(name: string, load: Load) {
  const turns = new Map<Side, Turn[]>(sides.map((side) => [side, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const turn = await measure(side, load);
      // The first round compiles code.
      if (round >= 0) turns.get(side)?.push(turn);
    }
  }
  const [first = [], second = []] = sides.map((side) => turns.get(side) ?? []);
  const medianOf = (side: readonly Turn[]) => spreadOf(side.map(({ figure }) => figure)).median;
  const ratioOf = (value: (turn: Turn) => number) =>
    spreadOf(second.map((turn, at) => value(turn) / value(first[at] ?? turn))).median;
  const [one, other] = [medianOf(first), medianOf(second)];
  const [ratio, cpuRatio] = [ratioOf(({ figure }) => figure), ratioOf(allCpuUs)];
  for (const [at, side] of [first, second].entries()) {
    console.log(`${name}, µs of CPU a message, ${sides[at]?.file}: ${describeCpu(side)}`);
  }
  const shown = `${one.toFixed(1)} and ${other.toFixed(1)} ${load.unit}`;
  return {
    ...{ path: name, budget: "", aim: "", met: true },
    measured: `${shown}; second ÷ first ${ratio.toFixed(3)}, CPU ${cpuRatio.toFixed(3)}`,
    figures: { first: one, second: other, ratio, cpuRatio },
  };
}

const rows = [];
for (const { stack } of sides) await setConnector(stack, ConnectorState.PAUSED);
for (const name of ROWS.split(",")) {
  const load = LOADS[name];
  if (load === undefined) throw new Error(`ROWS has no ${name}: ${Object.keys(LOADS).join(", ")}`);
  rows.push(await compare(name, load));
}
report("turns", rows);
