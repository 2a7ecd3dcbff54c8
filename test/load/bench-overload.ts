/**
 * `make bench-overload [PARTS=flood,carrier SECONDS=10 FACTOR=3 QUEUE_MAX=20000]`. The flood:
 * single sends at three times the capacity, then by thousands of connections that retry at once. Measures
 * the accepted rate, its latency, the refusals and the recovery time. Then a carrier that stops: sends are
 * accepted up to the queue's limit, refused
 * early beyond it, and drained when the carrier is back. The hour that it might last is scaled down
 * by the limit: the queue fills in seconds.
 */
import { processLayout } from "../../deploy/dev/process-table.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { startTestStack } from "../support/stack.ts";
import { setConnector } from "./connector-state.ts";
import type { Measured } from "./drive.ts";
import { ACCEPT_CONNECTIONS, measureOurAccept } from "./our-accept.ts";
import { driveOverload, floodRows } from "./overload.ts";
import { type Row, report } from "./report.ts";
import { FILL_CALLERS, stoppedCarrier } from "./stopped-carrier.ts";

const SECONDS = Number(process.env.SECONDS ?? 10);
const FACTOR = Number(process.env.FACTOR ?? 3);
const RECOVERY_MS = 10_000;

/** As many are accepted as before when at least this share is. */
const NORMAL_SHARE = 0.8;

/** The queue's limit of the second part; small, so that it fills in seconds. */
const QUEUE_MAX = Number(process.env.QUEUE_MAX ?? 20_000);

/** Warms up the compiler: a peak measured while throughput still rises is too low. */
const WARM_UP_MS = 12_000;

/** More callers than the gateway lets in at once, or a flood could never build up. */
const CALLERS = 2500;

/** Connections that do not keep to Retry-After. */
const HAMMERERS = 5000;

const PARTS = new Set((process.env.PARTS ?? "flood,carrier").split(","));

const rows = [
  ...(PARTS.has("flood") ? await flood() : []),
  ...(PARTS.has("carrier") ? await withStoppedCarrier() : []),
];
report("overload", rows);

async function flood(): Promise<Row[]> {
  const processes = processLayout(process.env);
  const stack = await startTestStack({ processes, settings: { LOG_LEVEL: "warn" } });
  try {
    // Accepted messages stay in the queue, so only the accept path is flooded.
    await setConnector(stack, ConnectorState.PAUSED);
    const before = await measureOurAccept(stack, {
      warmupMs: WARM_UP_MS,
      measureMs: SECONDS * 500,
    });
    say(`${whole(before.perSecond)}/s at ${ACCEPT_CONNECTIONS} connections`);
    const flooded = await driveOverload(stack, {
      callers: CALLERS,
      perSecond: before.perSecond * FACTOR,
      seconds: SECONDS,
    });
    say(`${flooded.accepted} of ${flooded.offered} accepted in the flood`);
    const hammered = await driveOverload(stack, {
      callers: HAMMERERS,
      perSecond: Number.POSITIVE_INFINITY,
      seconds: SECONDS,
    });
    say(`${hammered.accepted} of ${hammered.offered} accepted from those that ask at once`);
    const recoveredMs = await recovery(stack, before);
    const after = await measureOurAccept(stack, { warmupMs: 0, measureMs: SECONDS * 500 });
    say(`${whole(after.perSecond)}/s afterwards`);
    const peak = Math.max(before.perSecond, after.perSecond);
    return [
      {
        path: `single sends at ${ACCEPT_CONNECTIONS} connections, before and after: as many, no 503`,
        budget: "0 refused",
        aim: "",
        measured:
          `${whole(before.perSecond)}/s and ${whole(after.perSecond)}/s, ` +
          `${before.failed + after.failed} refused`,
        met: before.failed + after.failed === 0 && isAsMany(after, before),
        figures: { before: before.perSecond, after: after.perSecond },
      },
      ...floodRows(flooded, `a demand of ${FACTOR} × the peak`, FACTOR, peak),
      ...floodRows(hammered, `${whole(HAMMERERS)} connections that ask at once`, FACTOR, peak),
      {
        path: "back to normal after the flood",
        budget: "≤ 10 s",
        aim: "",
        measured: `${(recoveredMs / 1000).toFixed(1)} s`,
        met: recoveredMs <= RECOVERY_MS,
        figures: { recoveredMs },
      },
    ];
  } finally {
    await stack.stop();
  }
}

/** How long after the flood until a second of full load sees as many accepted as before, as soon, and no refusal. */
async function recovery(
  stack: Parameters<typeof measureOurAccept>[0],
  normal: Measured,
): Promise<number> {
  const fromMs = performance.now();
  while (performance.now() - fromMs < 3 * RECOVERY_MS) {
    const elapsedMs = performance.now() - fromMs;
    const now = await measureOurAccept(stack, { warmupMs: 0, measureMs: 1000 });
    const isSoon = now.p99Ms <= Math.max(2 * normal.p99Ms, 250);
    if (now.failed === 0 && isSoon && isAsMany(now, normal)) return elapsedMs;
  }
  return Number.POSITIVE_INFINITY;
}

function isAsMany(now: Measured, normal: Measured): boolean {
  return now.succeeded > 0 && now.perSecond >= NORMAL_SHARE * normal.perSecond;
}

async function withStoppedCarrier(): Promise<Row[]> {
  say("the carrier stops");
  const seen = await stoppedCarrier(QUEUE_MAX);
  const { accepted, limitMs, refusedEarly, withoutRetryAfter, otherAnswers } = seen;
  const { delivered, drainedMs, isOpenAgain } = seen;
  return [
    {
      path: `the carrier stops: accepted up to the queue's limit of ${QUEUE_MAX}`,
      budget: `at most ${FILL_CALLERS} under way beyond`,
      aim: "",
      measured:
        `${accepted} accepted in ${(limitMs / 1000).toFixed(1)} s, ` +
        `then ${refusedEarly} refused, ${withoutRetryAfter} without Retry-After, ` +
        `${otherAnswers} other`,
      met:
        accepted >= QUEUE_MAX &&
        accepted <= QUEUE_MAX + FILL_CALLERS &&
        refusedEarly > 0 &&
        withoutRetryAfter === 0 &&
        otherAnswers === 0,
      figures: { accepted, refusedEarly, withoutRetryAfter, limitMs },
    },
    {
      path: "the carrier is back: all accepted are delivered, and sends are accepted again",
      budget: "all",
      aim: "",
      measured: `${delivered} of ${accepted} delivered in ${(drainedMs / 1000).toFixed(1)} s`,
      met: delivered === accepted && isOpenAgain,
      figures: { delivered, drainedMs },
    },
  ];
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function whole(figure: number): string {
  return Math.round(figure).toLocaleString("en");
}
