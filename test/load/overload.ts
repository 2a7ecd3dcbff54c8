import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { latenciesOf } from "./drive.ts";
import { openConnections, singleSend } from "./sends.ts";

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
          if (!/^retry-after: \d+/im.test(head)) seen.withoutRetryAfter += 1;
        } else seen.other += 1;
      }
    }),
  );
  const seconds = (performance.now() - beganMs) / 1000;
  for (const connection of connections) connection.close();
  return { offered: total, ...seen, seconds, p99Ms: latencies.at(99), maxMs: latencies.at(100) };
}

const BROKEN = { status: 0, head: "" };
