/**
 * `make bench-growth [AXES=messages,tenants,tenants-spread,endpoints,connectors,retries]
 * [COUNT=1000000] [ROUNDS=3] [MESSAGES=1500] [WRITE=1]`: what a single send costs as an installation
 * grows; WRITE=1 puts the points of all axes into `docs/benchmarks.md`. A
 * stack that grows is measured beside one that stays small, in turn, so that what else the machine
 * does meets both; their ratio may rise by 15 %. COUNT bounds stored messages and waiting retries
 * (10,000,000 for the whole of it).
 */
import { startTestStack, type TestStack } from "../support/stack.ts";
import { writeTables } from "./doc-tables.ts";
import { AXES, type Axis } from "./growth-axes.ts";
import { type MessageCost, measureCost, measureIdle } from "./message-cost.ts";
import { keepResult, printTable } from "./report.ts";
import { singleSend } from "./sends.ts";
import { spreadOf } from "./spread.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const MESSAGES = Number(process.env.MESSAGES ?? 1500);
/** Compiled code lowers a process's cost, so both stacks are new and send this many messages first. */
const WARM_UP = 4 * MESSAGES;
const RATIO_MAX = 1.15;
const IDLE_MS = 3000;
/** Waits until the database has written the seeded data, which is no message's cost. */
const CALM_LOOKS_MAX = 60;
/** A stack is calm when it idles at no more than so much above the one that stays small, in thousandths of a core. */
const CALM_ABOVE_MILLICORES = 100;
const HEAD = [
  "what grows",
  "to",
  "µs CPU a message",
  "small stack",
  "ratio",
  "result",
  "idle",
  "largest increases",
];

type Point = {
  readonly axis: string;
  readonly what: string;
  readonly size: number;
  readonly costUs: number;
  readonly besideUs: number;
  readonly ratio: number;
  readonly idleMillicores: number;
  /** Processes whose own cost has risen most, in microseconds. */
  readonly risen: readonly (readonly [string, number])[];
};

const names = (process.env.AXES ?? Object.keys(AXES).join(",")).split(",");
const unknown = names.filter((name) => AXES[name] === undefined);
if (unknown.length > 0) throw new Error(`no such axis: ${unknown.join(", ")}`);
if (process.env.WRITE === "1" && names.length < Object.keys(AXES).length) {
  throw new Error("WRITE=1 is for all axes: the table in the documentation is whole");
}

const settings = { LOG_LEVEL: "warn" };
const points: Point[] = [];
for (const name of names) {
  const axis = AXES[name] as Axis;
  const measured = withWarmStack((small) =>
    withWarmStack((stack) => measureAxis(name, axis, stack, small)),
  );
  points.push(...(await measured));
}
const table = [HEAD, ...points.map(toLine)];
printTable(table);
if (process.env.WRITE === "1") {
  writeTables("docs/benchmarks.md", "make bench-growth WRITE=1", table);
}
keepResult("growth", { rounds: ROUNDS, messages: MESSAGES, points });
if (points.some(({ ratio }) => ratio > RATIO_MAX)) process.exitCode = 1;

async function measureAxis(
  name: string,
  axis: Axis,
  stack: TestStack,
  small: TestStack,
): Promise<Point[]> {
  const found: Point[] = [];
  let size = 0;
  for (const next of axis.points) {
    await axis.grow(stack, size, next);
    size = next;
    const send = axis.sender?.(stack) ?? ((at: number) => singleSend(stack, at));
    const point = await measurePoint(stack, send, small);
    found.push({ axis: name, what: axis.what, size, ...point });
    process.stdout.write(
      `${axis.what}: ${size}: ${point.costUs.toFixed(0)} µs beside ${point.besideUs.toFixed(0)} µs\n`,
    );
  }
  return found;
}

/** Lends a new stack that has compiled its code. */
async function withWarmStack<T>(work: (stack: TestStack) => Promise<T>): Promise<T> {
  const stack = await startTestStack({ settings });
  try {
    await measureCost(stack, WARM_UP, (at) => singleSend(stack, at));
    return await work(stack);
  } finally {
    await stack.stop();
  }
}

async function measurePoint(stack: TestStack, send: (at: number) => Buffer, small: TestStack) {
  const idleMillicores = await measureCalm(stack, small);
  const grown: MessageCost[] = [];
  const beside: MessageCost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    beside.push(await measureCost(small, MESSAGES, (at) => singleSend(small, at)));
    grown.push(await measureCost(stack, MESSAGES, send));
  }
  const middle = (costs: readonly MessageCost[]) =>
    spreadOf(costs.map(({ allUs }) => allUs)).median;
  const [costUs, besideUs] = [middle(grown), middle(beside)];
  const of = (costs: readonly MessageCost[], name: string) =>
    spreadOf(costs.map(({ byProcess }) => byProcess.get(name) ?? 0)).median;
  const processes = [...(grown[0]?.byProcess.keys() ?? [])];
  const risen = processes
    .map((name) => [name, Math.round(of(grown, name) - of(beside, name))] as const)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3);
  return { costUs, besideUs, ratio: costUs / besideUs, idleMillicores, risen };
}

function toLine(point: Point): string[] {
  return [
    point.what,
    point.size.toLocaleString("en"),
    point.costUs.toFixed(0),
    point.besideUs.toFixed(0),
    point.ratio.toFixed(2),
    point.ratio <= RATIO_MAX ? "flat" : "GROWS",
    `${(point.idleMillicores / 10).toFixed(1)} %`,
    point.risen.map(([name, us]) => `${name} ${us > 0 ? "+" : ""}${us}`).join(", "),
  ];
}

/** Waits until a grown stack is idle; returns its idle load at the last sample. */
async function measureCalm(stack: TestStack, small: TestStack): Promise<number> {
  const smallMillicores = await measureIdle(small, IDLE_MS);
  for (let look = 1; ; look += 1) {
    const idleMillicores = await measureIdle(stack, IDLE_MS);
    const isCalm = idleMillicores <= smallMillicores + CALM_ABOVE_MILLICORES;
    if (isCalm || look === CALM_LOOKS_MAX) return idleMillicores;
  }
}
