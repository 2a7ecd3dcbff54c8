/**
 * The delay that outages cause for webhook retries. Retries that fall due while the webhook process, its
 * database or a link is down must wait: each second adds one. Afterwards the service works off the backlog
 * while new retries fall due, at a minimum rate.
 */
import type { Crash } from "./chaos-stack.ts";
import type { FaultKind } from "./plan.ts";
import type { Done } from "./storm.ts";
import type { Outage } from "./webhook-storm-records.ts";

const WEBHOOK = "webhook";

/** The targets of faults that retries depend on. */
const NEEDED: ReadonlySet<string> = new Set([
  WEBHOOK,
  "mongod",
  "webhook>mongod",
  "webhook>receivers",
]);

/** The further dependencies of a starting webhook process, and the faults that restart it. */
const FOR_START: ReadonlySet<string> = new Set(["nats-server", "webhook>nats-server"]);
const STARTS: ReadonlySet<FaultKind> = new Set(["kill", "restart"]);

/** The time from repair to service: process start, election, reconnects. */
const RECOVERY_MS = 5000;

/** The minimum rate at which a delay shrinks, per second of work. */
const CATCH_UP = 0.5;

/** The periods without retries, from faults and from processes that exited by themselves. */
export function outagesOf(faults: readonly Done[], crashes: readonly Crash[]): Outage[] {
  const struck = faults.filter((done) => done.struck);
  const all = [
    ...struck.map((done) => {
      const { target, kind } = done.fault;
      return { name: target, isStart: STARTS.has(kind), ...awayDuring(done) };
    }),
    ...crashes.map(({ name, atMs }) => {
      return { name, isStart: true, fromMs: atMs, toMs: atMs + RECOVERY_MS };
    }),
  ].sort((a, b) => a.fromMs - b.fromMs);
  const streamAway = all.filter(({ name }) => FOR_START.has(name));
  return all
    .filter(({ name }) => NEEDED.has(name))
    .map(({ name, isStart, fromMs, toMs }) =>
      name === WEBHOOK && isStart
        ? { fromMs, toMs: untilStream(toMs, streamAway) }
        : { fromMs, toMs },
    );
}

/** A starting process waits for the stream; a running one retries webhooks without it. */
function untilStream(startedMs: number, streamAway: readonly Outage[]): number {
  let untilMs = startedMs;
  for (const { fromMs, toMs } of streamAway) {
    if (fromMs <= untilMs && toMs > untilMs) untilMs = toMs;
  }
  return untilMs;
}

/**
 * A slow clock delays due times; a fast clock dated the failures of that time too late by its offset.
 */
function awayDuring({ fault: { kind, amountMs }, fromMs, toMs }: Done): Outage {
  if (kind !== "clock") return { fromMs, toMs: toMs + RECOVERY_MS };
  return amountMs < 0 ? { fromMs, toMs } : { fromMs: toMs, toMs: toMs + amountMs };
}

/** A point of the delay function, followed by a line of this `slope`. */
type Corner = { readonly atMs: number; readonly delayMs: number; readonly slope: number };

/** The longest delay that outages explain between two moments, in milliseconds. */
export type Backlog = (fromMs: number, toMs: number) => number;

/** The backlog of these outages, ordered by start. */
export function backlogOf(outages: readonly Outage[]): Backlog {
  const corners: Corner[] = [];
  for (const { fromMs, toMs } of outages) {
    const beginMs = Math.max(fromMs, corners.at(-1)?.atMs ?? fromMs);
    if (toMs <= beginMs) continue;
    const delayMs = delayAt(corners, beginMs);
    corners.push({ atMs: beginMs, delayMs, slope: 1 });
    corners.push({ atMs: toMs, delayMs: delayMs + toMs - beginMs, slope: -CATCH_UP });
  }
  return (fromMs, toMs) => {
    const between = corners.filter(({ atMs }) => fromMs < atMs && atMs < toMs);
    const delays = between.map(({ delayMs }) => delayMs);
    return Math.max(delayAt(corners, fromMs), delayAt(corners, toMs), ...delays);
  };
}

function delayAt(corners: readonly Corner[], atMs: number): number {
  const last = corners.findLast((corner) => corner.atMs <= atMs);
  return last === undefined ? 0 : Math.max(0, last.delayMs + last.slope * (atMs - last.atMs));
}
