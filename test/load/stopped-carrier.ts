import { MongoClient } from "mongodb";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { openConnections, saysWhen, singleSend } from "./sends.ts";

/** The records of a queue that fills during an outage of the carrier, then drains. */
export type StoppedCarrier = {
  readonly accepted: number;
  readonly refusedEarly: number;
  /** Refusals that did not say when to come again. */
  readonly withoutRetryAfter: number;
  /** Neither 202 nor 503. */
  readonly otherAnswers: number;
  /** From the first send to the first refusal. */
  readonly limitMs: number;
  readonly delivered: number;
  readonly drainedMs: number;
  /** Whether sends are accepted once more after the drain. */
  readonly isOpenAgain: boolean;
};

/** Concurrent sends: this many may be past the check when the queue fills. */
export const FILL_CALLERS = 64;

/** Sends offered beyond the limit, as a share of it. */
const BEYOND = 0.5;

/** Queues are recounted every 10 s; until then a drained one may still seem full. */
const OPEN_AGAIN_MS = 25_000;
const DRAIN_MS = 180_000;

/** Kills the carrier's SMSC, fills the queue past its limit, and brings the SMSC back. */
export async function stoppedCarrier(queueMax: number): Promise<StoppedCarrier> {
  const settings = { LOG_LEVEL: "warn", QUEUE_MAX: String(queueMax) };
  const stack = await startTestStack({ settings });
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const messages = client.db("sms_messaging").collection("messages");
  const already = await messages.countDocuments({ status: "delivered" });
  try {
    await stack.kill("smsc-simulator");
    const filled = await fill(stack, Math.round(queueMax * (1 + BEYOND)));
    const backMs = performance.now();
    await stack.restart("smsc-simulator");
    let delivered = 0;
    for (const untilMs = backMs + DRAIN_MS; performance.now() < untilMs; ) {
      delivered = (await messages.countDocuments({ status: "delivered" })) - already;
      if (delivered >= filled.accepted) break;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const drainedMs = performance.now() - backMs;
    return { ...filled, delivered, drainedMs, isOpenAgain: await isOpenAgain(stack) };
  } finally {
    await client.close();
    await stack.stop();
  }
}

async function fill(stack: TestStack, count: number) {
  const connections = await openConnections(stack, FILL_CALLERS);
  const beganMs = performance.now();
  const seen = { accepted: 0, refusedEarly: 0, withoutRetryAfter: 0, otherAnswers: 0 };
  let limitMs = Number.POSITIVE_INFINITY;
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < count) {
        next += 1;
        const { status, head } = await connection.send(singleSend(stack, next));
        if (status === 202) seen.accepted += 1;
        else if (status === 503) {
          seen.refusedEarly += 1;
          if (!saysWhen(head)) seen.withoutRetryAfter += 1;
          limitMs = Math.min(limitMs, performance.now() - beganMs);
        } else seen.otherAnswers += 1;
      }
      connection.close();
    }),
  );
  return { ...seen, limitMs };
}

async function isOpenAgain(stack: TestStack): Promise<boolean> {
  const [connection] = await openConnections(stack, 1);
  for (const untilMs = performance.now() + OPEN_AGAIN_MS; performance.now() < untilMs; ) {
    if ((await connection?.send(singleSend(stack, 1)))?.status === 202) {
      connection?.close();
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  connection?.close();
  return false;
}
