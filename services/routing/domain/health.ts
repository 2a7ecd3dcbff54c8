/**
 * Whether a connector's routes should be tried first. States:
 *
 * - healthy: the first state; its routes stand in their own order. Left for `failing` when most of
 *   its submits fail for the carrier's own reasons over two judgements in a row, or when none of
 *   its binds has been up for a while.
 * - failing: its routes are tried after all others. Left for `probing` when its waiting time is
 *   over and a bind is up.
 * - probing: its routes stand in their own order again for a short while. Left for `healthy` when
 *   submits succeed (or none were made), for `failing` with twice the waiting time when they fail.
 */

/** What one bind of one carrier replica last said of itself. */
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
  /** Of the last window's submits, 0 to 1. */
  readonly failureShare: number;
  readonly submitted: number;
  readonly receipts: number;
  readonly receiptSecondsP50: number;
};

/** A state of the machine above. */
export type HealthState = "healthy" | "failing" | "probing";

/** The judgement on one connector. */
export type Verdict = {
  readonly connectorId: string;
  readonly state: HealthState;
  readonly sinceMs: number;
  /** What made it fail: no link, or failing submits. Empty while healthy. */
  readonly cause: "" | "link" | "submits";
  /** Judgements in a row that found it failing. */
  readonly strikes: number;
  /** How long it stays `failing` before a probe. */
  readonly waitMs: number;
  /** When a bind was last up. */
  readonly lastUpMs: number;
};

/** Share of failed submits from which a connector fails, and below which it has recovered. */
export const FAILING_SHARE = 0.5;
export const RECOVERED_SHARE = 0.2;
const STRIKES = 2;
const LINK_PATIENCE_MS = 5000;
const WAIT_FIRST_MS = 10_000;
const WAIT_MAX_MS = 300_000;
const PROBE_MS = 5000;
/** A report older than this says nothing about now. */
export const REPORT_FRESH_MS = 10_000;

/** The judgement on a connector nobody has spoken of. */
export function firstVerdict(connectorId: string, nowMs: number): Verdict {
  const waitMs = WAIT_FIRST_MS;
  const cause = "" as const;
  const state = "healthy" as const;
  return { connectorId, state, sinceMs: nowMs, cause, strikes: 0, waitMs, lastUpMs: nowMs };
}

/** Judges a connector anew by its binds' newest reports. */
export function judgeConnector(
  verdict: Verdict,
  reports: readonly BindHealth[],
  nowMs: number,
): Verdict {
  const fresh = reports.filter((report) => nowMs - report.reportedAtMs <= REPORT_FRESH_MS);
  const isUp = fresh.some(({ link }) => link === "bound" || link === "paused");
  const lastUpMs = isUp ? nowMs : verdict.lastUpMs;
  const share = failureShare(fresh);
  const isDown = nowMs - lastUpMs > LINK_PATIENCE_MS;
  const isBad = isDown || share >= FAILING_SHARE;
  const seen = { ...verdict, lastUpMs };
  if (verdict.state === "healthy") {
    const strikes = isBad ? verdict.strikes + 1 : 0;
    if (strikes >= STRIKES || isDown) return enterFailing(seen, verdict.waitMs, isDown, nowMs);
    const calmMs = nowMs - verdict.sinceMs;
    const waitMs = !isBad && calmMs > WAIT_MAX_MS ? WAIT_FIRST_MS : verdict.waitMs;
    return { ...seen, strikes, waitMs };
  }
  const inStateMs = nowMs - verdict.sinceMs;
  if (verdict.state === "failing") {
    // A link that is back needs no long wait: nothing was refused, there was nobody to ask.
    const isDue = inStateMs >= verdict.waitMs || verdict.cause === "link";
    return isUp && isDue ? { ...seen, state: "probing", sinceMs: nowMs, strikes: 0 } : seen;
  }
  if (isDown || (inStateMs >= PROBE_MS && share >= RECOVERED_SHARE)) {
    return enterFailing(seen, Math.min(WAIT_MAX_MS, verdict.waitMs * 2), isDown, nowMs);
  }
  if (inStateMs < PROBE_MS) return seen;
  return { ...seen, state: "healthy", sinceMs: nowMs, cause: "" };
}

function enterFailing(verdict: Verdict, waitMs: number, isDown: boolean, nowMs: number): Verdict {
  const cause = isDown ? "link" : "submits";
  return { ...verdict, state: "failing", sinceMs: nowMs, cause, strikes: 0, waitMs };
}

/** The share over all binds, each weighing as much as it submits. */
function failureShare(reports: readonly BindHealth[]): number {
  let weight = 0;
  let failed = 0;
  for (const report of reports) {
    const own = Math.max(report.submitsPerSecond, 0.001);
    weight += own;
    failed += own * report.failureShare;
  }
  return weight === 0 ? 0 : failed / weight;
}
