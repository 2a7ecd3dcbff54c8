/**
 * Decides whether a connector's routes are tried first. States:
 *
 * - healthy: the first state; its routes keep their order. Left for `failing` when most submits
 *   fail for the carrier's own reasons in two evaluations in a row, each over enough responses, or
 *   when no bind has been up for `LINK_DOWN_MS`.
 * - failing: its routes are tried after all others. Left for `probing` when the wait is over and a
 *   bind is up.
 * - probing: its routes have their order again for `PROBE_MS`, and until a submit has a response.
 *   Left for `healthy` when submits succeed (or none had a response in `PROBE_MAX_MS`), for
 *   `failing` with twice the wait when they fail.
 *
 * An evaluation counts the responses since the previous one, a probe those since it began. The
 * failure share over the carrier's window of 30 s must be high too, so that one bad second of a
 * busy connector has no effect. The share alone does not decide, because one failure of a quiet
 * connector fills it; only where a bind reports no counts is the share all there is.
 */

/** The latest report of one bind of one carrier replica. */
export type BindHealth = {
  readonly connectorId: string;
  readonly bind: string;
  readonly link: string;
  readonly windowUsed: number;
  readonly window: number;
  readonly submitsPerSecond: number;
  readonly throttled: number;
  readonly unknown: number;
  readonly answerMsP99: number;
  readonly lastError: string;
  readonly reportedAtMs: number;
  /** Failed share of the submits in the carrier's window of 30 s, 0 to 1. */
  readonly failureShare: number;
  readonly submitted: number;
  readonly receipts: number;
  readonly receiptSecondsP50: number;
  /**
   * Submits with a response since the bind was opened, and those of them that failed for the
   * carrier's own reasons; undefined from carriers that report only the share.
   */
  readonly answers: number | undefined;
  readonly failures: number | undefined;
  /** Submits per second to which throttling limits the bind; undefined without a limit. */
  readonly adaptiveRate?: number | undefined;
};

/** The counters of a bind at one moment. */
export type BindCount = {
  readonly bind: string;
  readonly answers: number;
  readonly failures: number;
};

/** A state of the machine above. */
export type HealthState = "healthy" | "failing" | "probing";

/** The health of one connector: the state of the machine above. */
export type ConnectorHealth = {
  readonly connectorId: string;
  readonly state: HealthState;
  readonly sinceMs: number;
  /** Cause of the failure: no link, or failing submits. Empty while healthy. */
  readonly cause: "" | "link" | "submits";
  /** Bad evaluations in a row. */
  readonly strikes: number;
  /** How long the connector stays `failing` before a probe. */
  readonly waitMs: number;
  /** When a bind was last up. */
  readonly lastUpMs: number;
  /** The binds' counters at the last evaluation of their submits, or when the probe began. */
  readonly counted: readonly BindCount[];
};

/** Share of failed submits from which a connector fails, and below which it has recovered. */
const FAILING_SHARE = 0.5;
const RECOVERED_SHARE = 0.2;
const STRIKES = 2;
/** Least responses that an evaluation needs: fewer may all fail by chance. */
const ANSWERS_MIN = 3;
const LINK_DOWN_MS = 5000;
/** Time without reports until a connector is down. Carriers report every second, and retry for up to 10 s. */
const NO_REPORT_MS = 10_000 + LINK_DOWN_MS;
/** Shortest pause of evaluations that counts as an interruption, see `pauseMaxMs`. */
const PAUSE_MAX_MS = LINK_DOWN_MS;
const WAIT_FIRST_MS = 10_000;
const WAIT_MAX_MS = 300_000;
const PROBE_MS = 5000;
/** Longest wait of a probe for its first response. */
const PROBE_MAX_MS = 60_000;
/** Reports older than this do not count. */
const REPORT_FRESH_MS = 10_000;

/** The pause after which evaluations at this interval count as interrupted. */
export function pauseMaxMs(intervalMs: number): number {
  return Math.max(PAUSE_MAX_MS, 3 * intervalMs);
}

/** The health of a connector without reports. */
export function initialHealth(connectorId: string, nowMs: number): ConnectorHealth {
  const waitMs = WAIT_FIRST_MS;
  const cause = "" as const;
  const state = "healthy" as const;
  const lastUpMs = nowMs;
  return { connectorId, state, sinceMs: nowMs, cause, strikes: 0, waitMs, lastUpMs, counted: [] };
}

/**
 * The next health of a connector by the latest reports of its binds. `watchedMs` is the time since
 * the evaluations started or were interrupted: a connector is down only after carriers had time to
 * report.
 */
export function evaluateConnector(
  health: ConnectorHealth,
  reports: readonly BindHealth[],
  nowMs: number,
  watchedMs: number,
): ConnectorHealth {
  const fresh = reports.filter((report) => nowMs - report.reportedAtMs <= REPORT_FRESH_MS);
  const isUp = fresh.some(({ link }) => link === "bound" || link === "paused");
  const lastUpMs = isUp ? nowMs : health.lastUpMs;
  const downAfterMs = fresh.length === 0 ? NO_REPORT_MS : LINK_DOWN_MS;
  const isDown = watchedMs > downAfterMs && nowMs - lastUpMs > LINK_DOWN_MS;
  const seen = { ...health, lastUpMs };
  if (health.state === "healthy") return evaluateHealthy(seen, fresh, isDown, nowMs);
  const inStateMs = nowMs - health.sinceMs;
  if (health.state === "failing") {
    // A link that is up again needs no wait: the carrier refused nothing while it was down.
    const isDue = inStateMs >= health.waitMs || health.cause === "link";
    if (!isUp || !isDue) return seen;
    return { ...seen, state: "probing", sinceMs: nowMs, strikes: 0, counted: countsNow(fresh) };
  }
  const { answers, failures, counted } = countSince(health.counted, fresh);
  const share = hasCounts(fresh) ? shareOf(failures, answers) : failureShare(fresh);
  if (isDown || (inStateMs >= PROBE_MS && share >= RECOVERED_SHARE)) {
    return enterFailing(seen, Math.min(WAIT_MAX_MS, health.waitMs * 2), isDown, nowMs);
  }
  // A probe without a response has tested nothing: the connector is quiet or its carrier is slow.
  const isOpen = hasCounts(fresh) && answers === 0;
  if (inStateMs < (isOpen ? PROBE_MAX_MS : PROBE_MS)) return { ...seen, counted };
  return { ...seen, state: "healthy", sinceMs: nowMs, cause: "", counted: countsNow(fresh) };
}

function evaluateHealthy(
  health: ConnectorHealth,
  fresh: readonly BindHealth[],
  isDown: boolean,
  nowMs: number,
): ConnectorHealth {
  const { answers, failures, counted } = countSince(health.counted, fresh);
  const isCounting = hasCounts(fresh);
  // A connector that fails every submit gets fewer and fewer submits, so fewer responses suffice.
  const isFailingAgain = health.strikes > 0 && answers > 0 && failures === answers;
  const isConclusive = !isCounting || answers >= ANSWERS_MIN || isFailingAgain;
  const isBad =
    isConclusive &&
    failureShare(fresh) >= FAILING_SHARE &&
    (!isCounting || shareOf(failures, answers) >= FAILING_SHARE);
  // An evaluation with too few responses neither adds a strike nor clears them.
  const kept = isConclusive ? 0 : health.strikes;
  const strikes = isBad ? health.strikes + 1 : kept;
  if (strikes >= STRIKES || isDown) return enterFailing(health, health.waitMs, isDown, nowMs);
  const calmMs = nowMs - health.sinceMs;
  const waitMs = !isBad && calmMs > WAIT_MAX_MS ? WAIT_FIRST_MS : health.waitMs;
  return { ...health, strikes, waitMs, counted: isConclusive ? countsNow(fresh) : counted };
}

function enterFailing(
  health: ConnectorHealth,
  waitMs: number,
  isDown: boolean,
  nowMs: number,
): ConnectorHealth {
  const cause = isDown ? "link" : "submits";
  return { ...health, state: "failing", sinceMs: nowMs, cause, strikes: 0, waitMs };
}

/** Whether every bind reports counters: the sum would miss a bind that reports only its share. */
function hasCounts(reports: readonly BindHealth[]): boolean {
  return reports.every(({ answers, failures }) => answers !== undefined && failures !== undefined);
}

/** The current counters of the binds. */
function countsNow(reports: readonly BindHealth[]): BindCount[] {
  return reports.flatMap(({ bind, answers, failures }) =>
    answers === undefined || failures === undefined ? [] : [{ bind, answers, failures }],
  );
}

/**
 * Responses and failures since the counters `before`. A new bind counts from its first report. A
 * bind whose counters have decreased has restarted and counts from zero.
 */
function countSince(
  before: readonly BindCount[],
  reports: readonly BindHealth[],
): { answers: number; failures: number; counted: BindCount[] } {
  const known = new Map(before.map((count) => [count.bind, count]));
  let answers = 0;
  let failures = 0;
  const counted = countsNow(reports).map((now) => {
    const last = known.get(now.bind) ?? now;
    const hasRestarted = now.answers < last.answers || now.failures < last.failures;
    const from = hasRestarted ? { bind: now.bind, answers: 0, failures: 0 } : last;
    answers += now.answers - from.answers;
    failures += now.failures - from.failures;
    return from;
  });
  return { answers, failures, counted };
}

/** The failure share over all binds, weighted by their submits per second. */
function failureShare(reports: readonly BindHealth[]): number {
  let weight = 0;
  let failed = 0;
  for (const report of reports) {
    const own = Math.max(report.submitsPerSecond, 0.001);
    weight += own;
    failed += own * report.failureShare;
  }
  return shareOf(failed, weight);
}

function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
