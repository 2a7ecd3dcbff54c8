/** Checks the retry schedule against the receivers' arrival times. */
import type { Evidence, Outage, Storm } from "./webhook-storm-records.ts";

/**
 * The additional lateness after an outage. A new process opens new connections: two handshakes per endpoint,
 * on cores shared with the receivers, the database and its own cold code.
 */
const MENDING_MS = 1000;

/** One retry: when it was due, and when it came. */
type Retry = {
  readonly name: string;
  readonly kind: string;
  readonly dueMs: number;
  readonly cameMs: number;
};

/**
 * Each retry comes when its wait is over: never earlier, at most `lateMsMax` later. A retry that falls due
 * during an outage of the process, the database or the stream, or shortly before, is due when all are
 * connected again.
 */
export function checkSchedule(evidence: Evidence) {
  const faults: string[] = [];
  const undisturbed: number[] = [];
  const disturbed: number[] = [];
  const late = new Map<string, number>();
  const { lateMsMax } = evidence;
  const outages = sortedOutages(evidence.storm);
  for (const { name, kind, dueMs, cameMs } of retriesOf(evidence)) {
    // Both clocks are rounded to a millisecond.
    if (cameMs < dueMs - 2) faults.push(`${name} came ${dueMs - cameMs} ms early`);
    const possibleMs = firstPossible(dueMs, outages, lateMsMax);
    // An outage that delayed nothing does not count: a retry before its end was on time.
    const lateMs = Math.max(0, cameMs - possibleMs);
    const wasDisturbed = possibleMs !== dueMs;
    (wasDisturbed ? disturbed : undisturbed).push(lateMs);
    if (cameMs > lastMoment(possibleMs, wasDisturbed, outages, lateMsMax)) {
      late.set(`late_${kind}`, (late.get(`late_${kind}`) ?? 0) + 1);
      const about = wasDisturbed ? "it was possible again" : "it was due";
      faults.push(`${name} came ${lateMs} ms after ${about}`);
    }
  }
  return {
    faults,
    figures: {
      retries: undisturbed.length,
      late_p50_ms: quantile(undisturbed, 0.5),
      late_p99_ms: quantile(undisturbed, 0.99),
      late_max_ms: quantile(undisturbed, 1),
      retries_in_outages: disturbed.length,
      after_outage_p50_ms: quantile(disturbed, 0.5),
      after_outage_p99_ms: quantile(disturbed, 0.99),
      after_outage_max_ms: quantile(disturbed, 1),
      ...Object.fromEntries(late),
    },
  };
}

/**
 * The retries that receivers saw. The first arrival of an attempt counts: after a kill the next process
 * repeats it, and the log has only the second. A wait starts at the failure time of the log, the only
 * record of when a response timed out.
 */
function retriesOf({ endpoints, deliveries, requests, retryDelaysMs }: Evidence): Retry[] {
  const kinds = new Map(endpoints.map(({ id, kind }) => [id, kind]));
  const came = new Map<string, number>();
  for (const [, , deliveryId, attempt, , atMs] of requests) {
    const key = `${deliveryId} ${attempt}`;
    if (!came.has(key)) came.set(key, atMs);
  }
  return deliveries.flatMap(({ _id, endpoint_id, attempts }) =>
    attempts.flatMap((failed, at): Retry[] => {
      const name = `${_id} attempt ${failed.number + 1}`;
      const cameMs = came.get(`${_id} ${failed.number + 1}`);
      const delayMs = retryDelaysMs[at];
      if (cameMs === undefined || delayMs === undefined) return [];
      const dueMs = failed.started_at.getTime() + failed.duration_ms + delayMs;
      return [{ name, kind: kinds.get(endpoint_id) ?? "", cameMs, dueMs }];
    }),
  );
}

function sortedOutages({ kills, stops }: Storm): Outage[] {
  return [...kills, ...stops].sort((a, b) => a.fromMs - b.fromMs);
}

/** The time when a retry was possible: its due time, or the end of the outages over it. */
function firstPossible(dueMs: number, outages: readonly Outage[], lateMsMax: number): number {
  let possibleMs = dueMs;
  for (const { fromMs, toMs } of outages) {
    const untilMs = possibleMs + allowedMs(lateMsMax, possibleMs !== dueMs);
    if (fromMs <= untilMs && toMs > possibleMs) possibleMs = toMs;
  }
  return possibleMs;
}

/**
 * The latest allowed time of a retry. One that falls due right after an outage gets the same margin as those
 * due during it, because it queues behind them.
 */
function lastMoment(
  possibleMs: number,
  wasDisturbed: boolean,
  outages: readonly Outage[],
  lateMsMax: number,
): number {
  const mended = outages
    .filter(({ toMs }) => toMs <= possibleMs)
    .map(({ toMs }) => toMs + allowedMs(lateMsMax, true));
  return Math.max(possibleMs + allowedMs(lateMsMax, wasDisturbed), ...mended);
}

function allowedMs(lateMsMax: number, isAfterOutage: boolean): number {
  return lateMsMax + (isAfterOutage ? MENDING_MS : 0);
}

function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.floor((values.length - 1) * share)] ?? 0;
}
