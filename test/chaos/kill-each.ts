/**
 * `make test-kill [S=wallet]`: for each service process, 2,000 single sends with 64 in flight,
 * `kill -9` of that process during the sends, a restart. Afterwards no message is lost or submitted twice,
 * and all are delivered, settled and announced. Exception: at most one window of unanswered submits of a
 * killed carrier is `failed` with `submission_unknown`, uncharged.
 */

import { sendMany, waitForStatuses } from "../support/customer.ts";
import { readCounters } from "../support/simulator-control.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { checkBooks, collectWebhooks } from "./rolling-checks.ts";

const ALL = [
  "gateway",
  "tenant",
  "sender-id",
  "wallet",
  "routing",
  "messaging",
  "carrier",
  "webhook",
  "campaign",
  "consent",
];
const NAMES = process.env.S === undefined || process.env.S === "" ? ALL : process.env.S.split(",");
const COUNT = Number(process.env.COUNT ?? 2000);
const FINAL = new Set(["delivered", "failed", "undelivered", "rejected", "cancelled", "expired"]);

const stack = await startTestStack({
  settings: { LOG_LEVEL: "warn", SUBMISSION_UNKNOWN_WAIT_MS: "20000" },
});
let bad = 0;
try {
  for (const [at, name] of NAMES.entries()) bad += await killDuring(stack, name, at);
} finally {
  await stack.stop();
}
process.stdout.write(`${NAMES.length - bad} passed, ${bad} failed\n`);
process.exitCode = bad === 0 ? 0 : 1;

/** The `round`th process, counted from 0: all rounds share one stack. */
async function killDuring(stack: TestStack, name: string, round: number): Promise<number> {
  await fetch(`${stack.smsc.control}/reset`, { method: "POST" });
  const webhooks = collectWebhooks(stack);
  let killing: Promise<void> | undefined;
  const startedMs = Date.now();
  const accepted = await sendMany(stack, {
    count: COUNT,
    inFlight: 64,
    firstRecipient: round * COUNT,
    keyPrefix: `kill-${name}-${startedMs}`,
    onAccepted(count) {
      if (count < COUNT / 2 || killing !== undefined) return;
      killing = stack.kill(name).then(() => stack.restart(name));
    },
  });
  await killing;
  const seen = await waitForStatuses(stack, accepted.keys(), FINAL, 120_000);
  const byStatus = new Map<string, number>();
  for (const id of accepted.keys()) {
    const message = seen.get(id);
    const what = message === undefined ? "lost" : `${message.status} ${message.error?.code ?? ""}`;
    byStatus.set(what.trim(), (byStatus.get(what.trim()) ?? 0) + 1);
  }
  const ends = [...accepted].filter(([id]) => seen.get(id)?.status === "delivered");
  const unannounced = await webhooks.check(
    new Map(ends.map(([id, to]) => [id, { to, end: "delivered" as const }])),
  );
  const counters = await readCounters(stack.smsc.control);
  const duplicates = Object.values(counters.submits).reduce((sum, one) => sum + one.duplicates, 0);
  const unclean = await checkBooks(stack, (round + 1) * COUNT);
  const inDoubt = byStatus.get("failed submission_unknown") ?? 0;
  const delivered = byStatus.get("delivered") ?? 0;
  const isDoubtAllowed = name === "carrier" && inDoubt <= 100;
  const isGood =
    delivered + (isDoubtAllowed ? inDoubt : 0) === COUNT &&
    duplicates + unannounced.length + unclean.length === 0;
  process.stdout.write(
    `${isGood ? "ok" : "NOT OK"}  kill -9 ${name}: ${JSON.stringify(Object.fromEntries(byStatus))}, ` +
      `${duplicates} submitted twice, check ${unclean.join("; ") || "clean"}, ` +
      `${unannounced.join("; ") || "all announced"}, ` +
      `${((Date.now() - startedMs) / 1000).toFixed(1)} s\n`,
  );
  return isGood ? 0 : 1;
}
