import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { latenciesOf } from "./drive.ts";
import type { Row } from "./report.ts";
import { openConnections, saysWhen, singleSend } from "./sends.ts";

/** The results of the sends in a flood. */
export type Overload = {
  /** Sends a second that were due, whether callers were free to send them or not. */
  readonly demand: number;
  readonly offered: number;
  readonly accepted: number;
  readonly refused: number;
  /** Refusals that did not say when to come again. */
  readonly withoutRetryAfter: number;
  /** Neither 202 nor 503. */
  readonly other: number;
  readonly seconds: number;
  /** Of accepted requests, from when they were sent. */
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Latency of accepted sends from their due time; includes the wait for a free caller. */
  readonly dueP99Ms: number;
};

/** Twice the delay that the gateway tolerates inside, and the way there and back. */
const P99_MAX_MS = 1500;

/** The minimum share of the planned requests for a valid flood. */
const DEMAND_SHARE_MIN = 0.9;

/** Prebuilt requests: building each would cost as much as refusing it. */
const PREPARED = 2000;

/**
 * Sends at a rate, whether or not requests succeed: each caller sends the next due request after its
 * response, or at once when the rate is endless. A request that falls due while all callers wait is late.
 */
export async function driveOverload(
  stack: StackFile,
  shape: { readonly callers: number; readonly perSecond: number; readonly seconds: number },
): Promise<Overload> {
  const connections = await openConnections(stack, shape.callers);
  const requests = Array.from({ length: PREPARED }, (_, count) => singleSend(stack, count));
  const latencies = latenciesOf();
  const sinceDue = latenciesOf();
  const seen = { accepted: 0, refused: 0, withoutRetryAfter: 0, other: 0 };
  const beganMs = performance.now();
  const endMs = beganMs + shape.seconds * 1000;
  let offered = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < endMs) {
        const dueMs = beganMs + (offered * 1000) / shape.perSecond;
        if (dueMs >= endMs) break;
        const request = requests[offered % PREPARED] as Buffer;
        offered += 1;
        const earlyMs = dueMs - performance.now();
        if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
        const sentMs = performance.now();
        const { status, head } = await connection.send(request).catch(() => BROKEN);
        if (status === 202) {
          seen.accepted += 1;
          const answeredMs = performance.now();
          latencies.add(answeredMs - sentMs);
          sinceDue.add(answeredMs - dueMs);
        } else if (status === 503) {
          seen.refused += 1;
          if (!saysWhen(head)) seen.withoutRetryAfter += 1;
        } else seen.other += 1;
      }
    }),
  );
  const seconds = (performance.now() - beganMs) / 1000;
  for (const connection of connections) connection.close();
  const late = { p99Ms: latencies.at(99), maxMs: latencies.at(100), dueP99Ms: sinceDue.at(99) };
  return { demand: shape.perSecond, offered, ...seen, seconds, ...late };
}

/** The rows of a flood of `factor` times the peak, with their budgets. */
export function floodRows(flooded: Overload, what: string, factor: number, peak: number): Row[] {
  const { demand, accepted, refused, other, seconds, offered, withoutRetryAfter } = flooded;
  const { p99Ms, maxMs, dueP99Ms } = flooded;
  const goodput = accepted / seconds;
  const offeredPerSecond = offered / seconds;
  const isTimed = Number.isFinite(demand);
  const isFlood = demand >= DEMAND_SHARE_MIN * factor * peak;
  return [
    {
      path: `goodput at ${what}`,
      budget: "≥ 80 % of it",
      aim: "",
      measured:
        `${((100 * goodput) / peak).toFixed(0)} % (${whole(goodput)}/s of ${whole(peak)}/s; ` +
        `${whole(offeredPerSecond)}/s offered)`,
      met: isFlood && goodput >= 0.8 * peak,
      ...(isFlood ? {} : { notChecked: `not checked, ${whole(demand)}/s demanded` }),
      figures: { goodput, peak, offeredPerSecond },
    },
    {
      path: "accepted requests meanwhile, from when they were sent",
      budget: `p99 ≤ ${P99_MAX_MS} ms`,
      aim: "",
      // Latency since the due time has no budget: the callers cannot send three times the peak in time.
      measured:
        `p99 ${whole(p99Ms)} ms, most ${whole(maxMs)} ms` +
        (isTimed ? `; p99 ${whole(dueP99Ms)} ms since they were due` : ""),
      met: p99Ms <= P99_MAX_MS,
      figures: { p99Ms, maxMs, ...(isTimed ? { dueP99Ms } : {}) },
    },
    {
      path: "the rest: 503 with Retry-After, nothing else",
      budget: "all",
      aim: "",
      measured: `${refused} refused, ${withoutRetryAfter} without Retry-After, ${other} other`,
      met: withoutRetryAfter === 0 && other === 0,
      figures: { refused, withoutRetryAfter, other },
    },
  ];
}

const BROKEN = { status: 0, head: "" };

function whole(figure: number): string {
  return Math.round(figure).toLocaleString("en");
}
