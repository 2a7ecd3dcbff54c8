/**
 * `make bench-turns STACKS=a/stack.json,b/stack.json [ROWS=lone,accept,bulk] [ROUNDS=8]`: running stacks of two
 * versions measured in turns of a few seconds, in both orders. A machine that is faster now and slower then moves
 * both sides of a ratio alike; two runs of `make bench` one after the other differ by a third on a busy host.
 *
 * Connectors are paused, so the messages stay queued: use stacks made for this, with the same `PROCESSES`.
 */
import { readFileSync } from "node:fs";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { setConnector } from "./connector-state.ts";
import { cpuSeconds } from "./cpu.ts";
import { driveClosed, driveOpen, type Measured } from "./drive.ts";
import { OUTSIDE } from "./message-cost.ts";
import { ACCEPT_CONNECTIONS } from "./our-accept.ts";
import { report } from "./report.ts";
import { bulkSend, openConnections, singleSend } from "./sends.ts";

const TURN_MS = 4000;
const BULK_SIZE = 1000;

type RowName = "lone" | "accept" | "bulk";
/** The loads: connections, messages of one request, and the figure that counts. */
const LOADS = {
  lone: { connections: 1, size: 1, unit: "ms, p50", figure: ({ p50Ms }: Measured) => p50Ms },
  accept: {
    connections: ACCEPT_CONNECTIONS,
    size: 1,
    unit: "/s",
    figure: ({ perSecond }: Measured) => perSecond,
  },
  bulk: {
    connections: 8,
    size: BULK_SIZE,
    unit: "/s",
    figure: ({ perSecond }: Measured) => perSecond * BULK_SIZE,
  },
} as const;

type Side = { readonly file: string; readonly stack: StackFile; sent: number };
/** The figure of one turn, and the CPU microseconds of each message in all processes of the stack. */
type Turn = { readonly figure: number; readonly cpuUs: number };

const { STACKS = "", ROWS = "lone,accept,bulk", ROUNDS = "8" } = process.env;
const rounds = Number(ROUNDS);
const sides: readonly Side[] = STACKS.split(",").map((file) => ({
  file,
  stack: JSON.parse(readFileSync(file, "utf8")) as StackFile,
  sent: 0,
}));
if (sides.length !== 2) throw new Error("STACKS names two files, with a comma between them");

async function measure(side: Side, name: RowName): Promise<Turn> {
  const { stack } = side;
  const { connections: callers, size, figure } = LOADS[name];
  const connections = await openConnections(stack, callers);
  const from = side.sent;
  let refusal: string | undefined;
  const work = async (caller: number) => {
    side.sent += 1;
    const at = side.sent;
    const request = name === "bulk" ? bulkSend(stack, at, size) : singleSend(stack, at);
    const answer = await connections[caller]?.send(request);
    if (answer?.status !== 202) refusal ??= `${answer?.status}: ${answer?.body}`;
    return answer?.status === 202;
  };
  const ours = Object.entries(stack.pids).filter(([process]) => !OUTSIDE.has(process));
  const cpu = () =>
    [...cpuSeconds(Object.fromEntries(ours)).values()].reduce((sum, seconds) => sum + seconds, 0);
  const before = cpu();
  const times = { callers, warmupMs: 0, measureMs: TURN_MS, work };
  const measured =
    name === "lone" ? await driveOpen({ perSecond: 20, ...times }) : await driveClosed(times);
  const cpuUs = ((cpu() - before) * 1e6) / ((side.sent - from) * size);
  for (const connection of connections) connection.close();
  if (refusal !== undefined) throw new Error(`${side.file} refused with ${refusal}`);
  return { figure: figure(measured), cpuUs };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

const rows = [];
for (const { stack } of sides) await setConnector(stack, ConnectorState.PAUSED);
for (const name of ROWS.split(",") as RowName[]) {
  for (const side of sides) side.sent = 0;
  const turns = new Map<Side, Turn[]>(sides.map((side) => [side, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const turn = await measure(side, name);
      // The first round compiles code.
      if (round >= 0) turns.get(side)?.push(turn);
    }
  }
  const [first = [], second = []] = sides.map((side) => turns.get(side) ?? []);
  const ratioOf = (value: (turn: Turn) => number) =>
    median(second.map((turn, at) => value(turn) / value(first[at] ?? turn)));
  const figures = {
    first: median(first.map(({ figure }) => figure)),
    second: median(second.map(({ figure }) => figure)),
    ratio: ratioOf(({ figure }) => figure),
    cpuRatio: ratioOf(({ cpuUs }) => cpuUs),
  };
  const { first: one, second: other, ratio, cpuRatio } = figures;
  const shown = `${one.toFixed(1)} and ${other.toFixed(1)} ${LOADS[name].unit}`;
  rows.push({
    ...{ path: name, budget: "", aim: "", met: true, figures },
    measured: `${shown}; second ÷ first ${ratio.toFixed(3)}, CPU ${cpuRatio.toFixed(3)}`,
  });
}
report("turns", rows);
