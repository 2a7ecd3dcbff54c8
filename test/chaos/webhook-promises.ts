/** The promises of webhook delivery, checked from what receivers saw and what the log says. */
import type { Request } from "../support/webhook-receiver-process.ts";
import type { ChaosReport } from "./webhook-run.ts";

/** How an endpoint behaves; `disabled` ones are good, and turned off for a while. */
export type EndpointKind = "ok" | "disabled" | "hang" | "fail" | "reset" | "drip";

/** One endpoint of a storm. */
export type EndpointRecord = {
  readonly id: string;
  readonly tenantId: string;
  readonly path: string;
  readonly kind: EndpointKind;
  /** When the call that turned it off was answered; 0 if never. */
  disabledAtMs: number;
  enabledAtMs: number;
};

/** What was done to the system, and when. */
export type Storm = {
  readonly kills: number[];
  /** Times in which something was away. */
  readonly outages: { readonly fromMs: number; readonly toMs: number }[];
  readonly events: { readonly id: string; readonly endpointId: string; readonly atMs: number }[];
};

/** A delivery as it lies in the database. */
export type LoggedDelivery = {
  readonly _id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly status: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly started_at: Date;
    readonly duration_ms: number;
  }[];
};

/** Everything a check looks at. */
export type Evidence = {
  readonly endpoints: readonly EndpointRecord[];
  readonly storm: Storm;
  readonly requests: readonly Request[];
  readonly deliveries: readonly LoggedDelivery[];
  readonly overlaps: number;
  readonly retryDelaysMs: readonly number[];
  readonly timeoutMs: number;
};

/** A request in the air when an endpoint is turned off may still arrive this much later. */
const IN_THE_AIR_MS = 500;

/** How late a retry may be, as the issue of schedules has it. */
const LATE_MS_MAX = 1000;

/** After an outage or a kill, this long passes until everything is at work again. */
const MENDING_MS = 3000;

/** Checks every promise. */
export function checkPromises(evidence: Evidence): ChaosReport {
  const lateness = checkSchedule(evidence);
  const faults = [
    ...checkArrival(evidence),
    ...checkDuplicates(evidence),
    ...checkDisabled(evidence),
    ...checkEnds(evidence),
    ...lateness.faults,
  ];
  if (evidence.overlaps > 0) {
    faults.push(`${evidence.overlaps} deliveries were attempted twice at once`);
  }
  return {
    faults,
    figures: {
      events: evidence.storm.events.length,
      requests: evidence.requests.length,
      kills: evidence.storm.kills.length,
      duplicates: countDuplicates(evidence),
      retries: lateness.checked,
      retry_late_p99_ms: lateness.p99Ms,
      retry_late_max_ms: lateness.maxMs,
    },
  };
}

/** Each event reaches its healthy endpoint at least once. */
function checkArrival({ endpoints, storm, requests }: Evidence): string[] {
  const good = new Set(endpoints.filter(({ kind }) => kind === "ok").map(({ id }) => id));
  const seen = new Set(requests.map(([, eventId]) => eventId));
  const missing = storm.events.filter(
    ({ id, endpointId }) => good.has(endpointId) && !seen.has(id),
  );
  return missing.length === 0
    ? []
    : [`${missing.length} events never reached their healthy endpoint, ${missing[0]?.id} first`];
}

/**
 * A healthy endpoint gets an attempt twice only when the process was killed in between. A second
 * attempt is none of that: this machine was too busy for the first one's answer to come in time.
 */
function checkDuplicates({ endpoints, storm, requests }: Evidence): string[] {
  const good = new Set(
    endpoints.filter(({ kind }) => kind === "ok" || kind === "disabled").map(({ path }) => path),
  );
  const first = new Map<string, number>();
  const unexplained: string[] = [];
  for (const [path, , deliveryId, attempt, , atMs] of requests) {
    if (!good.has(path)) continue;
    const before = first.get(`${deliveryId} ${attempt}`);
    first.set(`${deliveryId} ${attempt}`, atMs);
    if (before === undefined) continue;
    if (storm.kills.some((killMs) => killMs >= before - 100 && killMs <= atMs)) continue;
    const lastKillMs = Math.max(...storm.kills.filter((killMs) => killMs <= before));
    const outages = storm.outages.map(({ fromMs, toMs }) => [fromMs - before, toMs - before]);
    unexplained.push(
      `${deliveryId} came again after ${atMs - before} ms without a kill; the last kill was ` +
        `${before - lastKillMs} ms before it, outages ${JSON.stringify(outages)}`,
    );
  }
  return unexplained;
}

function countDuplicates({ endpoints, requests }: Evidence): number {
  const good = new Set(endpoints.filter(({ kind }) => kind === "ok").map(({ path }) => path));
  const ids = requests.filter(([path]) => good.has(path)).map(([, , deliveryId]) => deliveryId);
  return ids.length - new Set(ids).size;
}

/** Nothing arrives while an endpoint is off, and nothing of that time arrives later. */
function checkDisabled({ endpoints, storm, requests }: Evidence): string[] {
  const faults: string[] = [];
  const eventTimes = new Map(storm.events.map(({ id, atMs }) => [id, atMs]));
  for (const { id, path, disabledAtMs, enabledAtMs, kind } of endpoints) {
    if (kind !== "disabled") continue;
    if (disabledAtMs === 0 || enabledAtMs === 0) faults.push(`${id} was never turned off and on`);
    for (const [requestPath, eventId, , , , atMs] of requests) {
      if (requestPath !== path) continue;
      const eventMs = eventTimes.get(eventId) ?? 0;
      const cameWhileOff = atMs > disabledAtMs + IN_THE_AIR_MS && eventMs < disabledAtMs;
      const isOfThatTime = eventMs > disabledAtMs && eventMs < enabledAtMs - IN_THE_AIR_MS;
      if (cameWhileOff || isOfThatTime) faults.push(`${id} got ${eventId}, which it must not`);
    }
  }
  return faults;
}

/** Every delivery to a bad endpoint used its whole schedule, no less and no more. */
function checkEnds({ endpoints, deliveries, retryDelaysMs }: Evidence): string[] {
  const bad = new Set(
    endpoints.filter(({ kind }) => kind !== "ok" && kind !== "disabled").map(({ id }) => id),
  );
  const wrong = deliveries.filter(
    ({ endpoint_id, status, attempts }) =>
      bad.has(endpoint_id) && (status !== "failed" || attempts.length !== retryDelaysMs.length + 1),
  );
  return wrong.length === 0
    ? []
    : [`${wrong.length} deliveries to bad endpoints ended wrongly, ${wrong[0]?._id} first`];
}

/** Each retry starts when its wait is over: never before, and within a second unless something was away. */
function checkSchedule({ deliveries, retryDelaysMs, storm }: Evidence) {
  const faults: string[] = [];
  const lateness: number[] = [];
  for (const { _id, attempts } of deliveries) {
    for (let at = 1; at < attempts.length; at += 1) {
      const [before, next] = [attempts[at - 1], attempts[at]];
      if (before === undefined || next === undefined) continue;
      const failedMs = before.started_at.getTime() + before.duration_ms;
      const lateMs = next.started_at.getTime() - failedMs - (retryDelaysMs[at - 1] ?? 0);
      // Both clocks are rounded to a millisecond.
      if (lateMs < -2) faults.push(`${_id} attempt ${next.number} came ${-lateMs} ms early`);
      const wasAway = storm.outages.some(
        ({ fromMs, toMs }) =>
          fromMs <= next.started_at.getTime() &&
          toMs + MENDING_MS >= next.started_at.getTime() - lateMs,
      );
      if (wasAway) continue;
      lateness.push(lateMs);
      if (lateMs > LATE_MS_MAX) faults.push(`${_id} attempt ${next.number} came ${lateMs} ms late`);
    }
  }
  lateness.sort((a, b) => a - b);
  return {
    faults,
    checked: lateness.length,
    p99Ms: lateness[Math.floor((lateness.length - 1) * 0.99)] ?? 0,
    maxMs: lateness.at(-1) ?? 0,
  };
}
