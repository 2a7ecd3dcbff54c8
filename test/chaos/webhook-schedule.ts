/** The schedule of retries, checked from when receivers saw them. */
import type { Evidence, Outage, Storm } from "./webhook-promises.ts";

/**
 * How much later than that after an outage. A process that has just begun makes its connections
 * anew: two handshakes' worth of work for each endpoint, on cores that it shares with the
 * receivers, the database and its own cold code.
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
 * Each retry comes when its wait is over: never before, and hardly after (`lateMsMax`). A retry that falls due
 * while the process, the database or the stream is away, or less than that before, may not
 * be made then: its time begins when everything is there again and connected.
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
    // Some outages stand in nobody's way: what came before their end was not late.
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
 * The retries that receivers saw. What counts is the first arrival of an attempt: one that a killed
 * process had made is made again by the next, and the log knows the second alone. The failure that
 * a wait counts from is the log's: nobody else knows when an answer stopped being awaited.
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

/** When a retry could be made: when due, or at the end of the outages that stood in its way. */
function firstPossible(dueMs: number, outages: readonly Outage[], lateMsMax: number): number {
  let possibleMs = dueMs;
  for (const { fromMs, toMs } of outages) {
    const untilMs = possibleMs + allowedMs(lateMsMax, possibleMs !== dueMs);
    if (fromMs <= untilMs && toMs > possibleMs) possibleMs = toMs;
  }
  return possibleMs;
}

/**
 * Until when a retry may come. One that falls due right after an outage has as long as those that
 * fell due within it: they are all in front of it.
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
