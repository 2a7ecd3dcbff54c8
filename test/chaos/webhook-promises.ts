/** Checks the promises of webhook delivery against the receivers' records and the delivery log. */
import { checkSchedule } from "./webhook-schedule.ts";
import type {
  ChaosReport,
  EndpointKind,
  EndpointRecord,
  Evidence,
} from "./webhook-storm-records.ts";

/** Endpoints that accept every event. */
const GOOD: ReadonlySet<EndpointKind> = new Set(["ok", "drip"]);

function isGood({ kind }: EndpointRecord): boolean {
  return GOOD.has(kind);
}

function isGoodOrOff(endpoint: EndpointRecord): boolean {
  return endpoint.kind === "disabled" || isGood(endpoint);
}

/**
 * The longest time of a request on the wire: the receiver, which shares the machine's cores, may read this
 * much later a request that was written before its endpoint was disabled.
 */
const ON_ITS_WAY_MS = 500;

/** Checks every promise. */
export function checkPromises(evidence: Evidence): ChaosReport {
  const schedule = checkSchedule(evidence);
  const faults = [
    ...checkArrival(evidence),
    ...checkDuplicates(evidence),
    ...checkDisabled(evidence),
    ...checkEnds(evidence),
    ...checkSuccesses(evidence),
    ...schedule.faults,
  ];
  if (schedule.figures.retries + schedule.figures.retries_in_outages === 0) {
    faults.push("no retry came anywhere: no schedule was checked");
  }
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
      ...schedule.figures,
    },
  };
}

/**
 * Each event reaches its healthy endpoint at least once. An event whose attempts all timed out is reported
 * separately from a lost one: the machine was too busy.
 */
function checkArrival({ endpoints, storm, requests, deliveries }: Evidence): string[] {
  /** The time from which each endpoint accepts every event. */
  const goodFromMs = new Map(
    endpoints
      .filter(isGoodOrOff)
      .map((one) => [one.id, isGood(one) ? 0 : one.enabledAtMs || Number.POSITIVE_INFINITY]),
  );
  const seen = new Set(requests.map(([, eventId]) => eventId));
  const tried = new Set(
    deliveries.filter(({ status }) => status === "failed").map(({ event_id }) => event_id),
  );
  const missing = storm.events.filter(
    ({ id, endpointId, atMs }) =>
      atMs > (goodFromMs.get(endpointId) ?? Number.POSITIVE_INFINITY) && !seen.has(id),
  );
  const lost = missing.filter(({ id }) => !tried.has(id));
  const faults: string[] = [];
  if (lost.length > 0) faults.push(`${lost.length} events were lost, ${lost[0]?.id} first`);
  if (missing.length > lost.length) {
    const count = missing.length - lost.length;
    faults.push(`${count} events ran out of attempts on their way to healthy endpoints`);
  }
  return faults;
}

/**
 * A healthy endpoint gets an attempt twice only when a kill prevented the process from saving the response:
 * the first request came before the next process was ready, the second after the kill. Attempt number 2
 * is different: the machine was too busy for the first response to come in time.
 */
function checkDuplicates({ endpoints, storm, requests }: Evidence): string[] {
  const good = new Set(endpoints.filter(isGoodOrOff).map(({ path }) => path));
  const first = new Map<string, number>();
  const unexplained: string[] = [];
  for (const [path, , deliveryId, attempt, , atMs] of requests) {
    if (!good.has(path)) continue;
    const before = first.get(`${deliveryId} ${attempt}`);
    first.set(`${deliveryId} ${attempt}`, atMs);
    if (before === undefined) continue;
    if (storm.kills.some(({ fromMs, toMs }) => fromMs <= atMs && before <= toMs)) continue;
    unexplained.push(`${deliveryId} came again after ${atMs - before} ms without a kill`);
  }
  return unexplained;
}

function countDuplicates({ endpoints, requests }: Evidence): number {
  const good = new Set(endpoints.filter(isGood).map(({ path }) => path));
  const ids = requests.filter(([path]) => good.has(path)).map(([, , deliveryId]) => deliveryId);
  return ids.length - new Set(ids).size;
}

/**
 * No event of the disabled period or before arrives during it or later. An endpoint is certainly disabled
 * from the response to the disabling call until the first enabling call, so the check is exact.
 */
function checkDisabled({ endpoints, storm, requests }: Evidence): string[] {
  const faults: string[] = [];
  const eventTimes = new Map(storm.events.map(({ id, atMs }) => [id, atMs]));
  for (const endpoint of endpoints) {
    const { id, path, disableAskedMs, disabledAtMs, enableAskedMs, enabledAtMs } = endpoint;
    if (endpoint.kind !== "disabled") continue;
    if (disabledAtMs === 0 || enabledAtMs === 0) faults.push(`${id} was never turned off and on`);
    for (const [requestPath, eventId, , , , atMs] of requests) {
      if (requestPath !== path) continue;
      const eventMs = eventTimes.get(eventId) ?? 0;
      if (eventMs > disabledAtMs && eventMs < enableAskedMs) {
        faults.push(`${id} got ${eventId} of the time in which it was off`);
      } else if (atMs > disabledAtMs + ON_ITS_WAY_MS && atMs < enableAskedMs) {
        faults.push(`${id} got ${eventId} ${atMs - disabledAtMs} ms after it was turned off`);
      } else if (eventMs < disableAskedMs && atMs > disabledAtMs + ON_ITS_WAY_MS) {
        faults.push(`${id} got ${eventId} of before it was off, after it was on again`);
      }
    }
  }
  return faults;
}

/** Every event of a bad endpoint has a delivery that used exactly its whole schedule. */
function checkEnds({ endpoints, storm, deliveries, retryDelaysMs }: Evidence): string[] {
  const bad = new Set(endpoints.filter((each) => !isGoodOrOff(each)).map(({ id }) => id));
  const wrong = deliveries.filter(
    ({ endpoint_id, status, attempts }) =>
      bad.has(endpoint_id) && (status !== "failed" || attempts.length !== retryDelaysMs.length + 1),
  );
  const delivered = new Set(deliveries.map(({ event_id }) => event_id));
  const lost = storm.events.filter(
    ({ id, endpointId }) => bad.has(endpointId) && !delivered.has(id),
  );
  const faults: string[] = [];
  if (wrong.length > 0) {
    faults.push(
      `${wrong.length} deliveries to bad endpoints ended wrongly, ${wrong[0]?._id} first`,
    );
  }
  if (lost.length > 0) {
    faults.push(`${lost.length} events of bad endpoints have no delivery, ${lost[0]?.id} first`);
  }
  return faults;
}

/** Any 2xx in time is success, even if its body never ends. */
function checkSuccesses({ deliveries }: Evidence): string[] {
  const wrong = deliveries.filter(({ attempts }) =>
    attempts.some(
      ({ http_status: status, error }) => status >= 200 && status < 300 && error !== "",
    ),
  );
  return wrong.length === 0
    ? []
    : [`${wrong.length} deliveries failed with a 2xx, ${wrong[0]?._id} first`];
}
