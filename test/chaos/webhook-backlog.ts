/**
 * How far behind outages put the retries of webhooks. What falls due while the webhook process, its
 * database or the way to one of them is away must wait: each second adds one. Afterwards the service
 * works through what waits beside what falls due; how fast, it must show.
 */
import type { Crash } from "./chaos-stack.ts";
import type { FaultKind } from "./plan.ts";
import type { Done } from "./storm.ts";
import type { Outage } from "./webhook-promises.ts";

const WEBHOOK = "webhook";

/** What retries need, as faults name it. */
const NEEDED: ReadonlySet<string> = new Set([
  WEBHOOK,
  "mongod",
  "webhook>mongod",
  "webhook>receivers",
]);

/** What a webhook process needs besides to start, and the faults that make it start. */
const FOR_START: ReadonlySet<string> = new Set(["nats-server", "webhook>nats-server"]);
const STARTS: ReadonlySet<FaultKind> = new Set(["kill", "restart"]);

/** Until what is mended works again: processes start, the database elects itself, drivers connect. */
const RECOVERY_MS = 5000;

/** So much of a delay is made good in each second of work, at the least. */
const CATCH_UP = 0.5;

/** The times in which retries could not be made, of a storm's faults and of what ended by itself. */
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

/** A process that starts waits for the stream, should that be away; one that runs retries without it. */
function untilStream(startedMs: number, streamAway: readonly Outage[]): number {
  let untilMs = startedMs;
  for (const { fromMs, toMs } of streamAway) {
    if (fromMs <= untilMs && toMs > untilMs) untilMs = toMs;
  }
  return untilMs;
}

/**
 * A clock that is behind lets nothing fall due; one that was ahead dated what failed meanwhile too
 * late by as much as it was.
 */
function awayDuring({ fault: { kind, amountMs }, fromMs, toMs }: Done): Outage {
  if (kind !== "clock") return { fromMs, toMs: toMs + RECOVERY_MS };
  return amountMs < 0 ? { fromMs, toMs } : { fromMs: toMs, toMs: toMs + amountMs };
}

/** A corner of the delay over time; from it on it changes by `slope` in each unit of time. */
type Corner = { readonly atMs: number; readonly delayMs: number; readonly slope: number };

/** The longest delay that outages explain between two moments, in milliseconds. */
export type Backlog = (fromMs: number, toMs: number) => number;

/** The backlog of these outages, which are in the order of their beginnings. */
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
