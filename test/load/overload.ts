import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { latenciesOf } from "./drive.ts";
import type { Row } from "./report.ts";
import { openConnections, saysWhen, singleSend } from "./sends.ts";

/** What became of the sends offered in a flood. */
export type Overload = {
  readonly offered: number;
  readonly accepted: number;
  readonly refused: number;
  /** Refusals that did not say when to come again. */
  readonly withoutRetryAfter: number;
  /** Neither 202 nor 503. */
  readonly other: number;
  readonly seconds: number;
  /** Of accepted requests, from their intended start. */
  readonly p99Ms: number;
  readonly maxMs: number;
};

/** A flood is one when at least this share of what it should be was offered. */
const OFFERED_SHARE_MIN = 0.9;

/** Twice the delay that the gateway tolerates inside, and the way there and back. */
const P99_MAX_MS = 1500;

/** Requests made beforehand: making each anew would cost as much as refusing it. */
const PREPARED = 2000;

/**
 * Offers sends at a fixed rate, whatever becomes of them. A request whose turn comes while every
 * caller still waits starts late; its latency counts from its turn.
 */
export async function driveOverload(
  stack: StackFile,
  shape: { readonly callers: number; readonly perSecond: number; readonly seconds: number },
): Promise<Overload> {
  const connections = await openConnections(stack, shape.callers);
  const requests = Array.from({ length: PREPARED }, (_, count) => singleSend(stack, count));
  const total = Math.round(shape.perSecond * shape.seconds);
  const latencies = latenciesOf();
  const seen = { accepted: 0, refused: 0, withoutRetryAfter: 0, other: 0 };
  const beganMs = performance.now();
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < total) {
        const intendedMs = beganMs + (next * 1000) / shape.perSecond;
        const request = requests[next % PREPARED] as Buffer;
        next += 1;
        const earlyMs = intendedMs - performance.now();
        if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
        const { status, head } = await connection.send(request).catch(() => BROKEN);
        if (status === 202) {
          seen.accepted += 1;
          latencies.add(performance.now() - intendedMs);
        } else if (status === 503) {
          seen.refused += 1;
          if (!saysWhen(head)) seen.withoutRetryAfter += 1;
        } else seen.other += 1;
      }
    }),
  );
  const seconds = (performance.now() - beganMs) / 1000;
  for (const connection of connections) connection.close();
  return { offered: total, ...seen, seconds, p99Ms: latencies.at(99), maxMs: latencies.at(100) };
}

/** What a flood at `factor` times the peak showed, beside its budgets. */
export function floodRows(flooded: Overload, factor: number, peak: number): Row[] {
  const { accepted, refused, other, seconds, offered, p99Ms, maxMs, withoutRetryAfter } = flooded;
  const goodput = accepted / seconds;
  const offeredPerSecond = offered / seconds;
  const isFlood = offeredPerSecond >= OFFERED_SHARE_MIN * factor * peak;
  return [
    {
      path: `goodput at ${factor} × the peak`,
      budget: "≥ 80 % of it",
      aim: "",
      measured:
        `${((100 * goodput) / peak).toFixed(0)} % (${whole(goodput)}/s of ${whole(peak)}/s; ` +
        `${whole(offeredPerSecond)}/s offered)`,
      met: isFlood && goodput >= 0.8 * peak,
      ...(isFlood ? {} : { notJudged: `not judged, ${whole(offeredPerSecond)}/s offered` }),
      figures: { goodput, peak, offeredPerSecond },
    },
    {
      path: "accepted requests meanwhile, from their intended start",
      budget: `p99 ≤ ${P99_MAX_MS} ms`,
      aim: "",
      measured: `p99 ${whole(p99Ms)} ms, most ${whole(maxMs)} ms`,
      met: p99Ms <= P99_MAX_MS,
      figures: { p99Ms, maxMs },
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
