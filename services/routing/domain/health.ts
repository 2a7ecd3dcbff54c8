/**
 * Whether a connector's routes should be tried first. States:
 *
 * - healthy: the first state; its routes stand in their own order. Left for `failing` when most of
 *   its submits fail for the carrier's own reasons over two judgements in a row, each over some answers
 *   of its own, or when none of its binds has been up for a while.
 * - failing: its routes are tried after all others. Left for `probing` when its waiting time is
 *   over and a bind is up.
 * - probing: its routes stand in their own order again for a short while, and until a submit has an outcome.
 *   Left for `healthy` when submits succeed (or none had an outcome in a minute), for `failing` with twice
 *   the waiting time when they fail.
 *
 * What counts for a judgement are the answers since the one before, for a probe those since it began:
 * the share over the carriers' half minute, which a quiet connector's one failure would fill, is asked
 * besides, so that a bad second of a busy one is nothing. Carriers of an earlier version tell only
 * that share; it alone decides then.
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
  /**
   * Submits that had an outcome since the bind began, and those that failed for the carrier's own
   * reasons; undefined from carriers that tell only the share.
   */
  readonly answers: number | undefined;
  readonly failures: number | undefined;
};

/** How far a bind's answers and failures have counted. */
export type BindCount = {
  readonly bind: string;
  readonly answers: number;
  readonly failures: number;
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
  /** The binds' counts at the last judgement of their submits, or when the probe began. */
  readonly counted: readonly BindCount[];
};

/** Share of failed submits from which a connector fails, and below which it has recovered. */
export const FAILING_SHARE = 0.5;
export const RECOVERED_SHARE = 0.2;
const STRIKES = 2;
/** A judgement waits for so many answers: fewer are chance. */
const ANSWERS_MIN = 3;
const LINK_PATIENCE_MS = 5000;
/** Carriers report each second; those of an earlier version waited up to ten after they had failed to. */
const SILENCE_PATIENCE_MS = 10_000 + LINK_PATIENCE_MS;
/** Judging that has rested for longer than this begins anew, and than three times as long as it should. */
const JUDGING_GAP_MS = LINK_PATIENCE_MS;
const WAIT_FIRST_MS = 10_000;
const WAIT_MAX_MS = 300_000;
const PROBE_MS = 5000;
/** A probe waits no longer for the first answer in it, or for the end of a wait for one. */
const PROBE_MAX_MS = 60_000;
/** A report older than this says nothing about now. */
export const REPORT_FRESH_MS = 10_000;

/** After how long a rest judging begins anew that should go on every so often. */
export function judgingGapMs(everyMs: number): number {
  return Math.max(JUDGING_GAP_MS, 3 * everyMs);
}

/** The judgement on a connector nobody has spoken of. */
export function firstVerdict(connectorId: string, nowMs: number): Verdict {
  const waitMs = WAIT_FIRST_MS;
  const cause = "" as const;
  const state = "healthy" as const;
  const lastUpMs = nowMs;
  return { connectorId, state, sinceMs: nowMs, cause, strikes: 0, waitMs, lastUpMs, counted: [] };
}

/**
 * Judges a connector anew by its binds' newest reports. `watchedMs` is how long judging has gone on without a
 * gap: after one, nobody is down before carriers have had the time to report again.
 */
export function judgeConnector(
  verdict: Verdict,
  reports: readonly BindHealth[],
  nowMs: number,
  watchedMs: number,
): Verdict {
  const fresh = reports.filter((report) => nowMs - report.reportedAtMs <= REPORT_FRESH_MS);
  const isUp = fresh.some(({ link }) => link === "bound" || link === "paused");
  const lastUpMs = isUp ? nowMs : verdict.lastUpMs;
  const patienceMs = fresh.length === 0 ? SILENCE_PATIENCE_MS : LINK_PATIENCE_MS;
  const isDown = watchedMs > patienceMs && nowMs - lastUpMs > LINK_PATIENCE_MS;
  const seen = { ...verdict, lastUpMs };
  if (verdict.state === "healthy") return judgeHealthy(seen, fresh, isDown, nowMs);
  const inStateMs = nowMs - verdict.sinceMs;
  if (verdict.state === "failing") {
    // A link that is back needs no long wait: nothing was refused, there was nobody to ask.
    const isDue = inStateMs >= verdict.waitMs || verdict.cause === "link";
    if (!isUp || !isDue) return seen;
    return { ...seen, state: "probing", sinceMs: nowMs, strikes: 0, counted: countsNow(fresh) };
  }
  const { answers, failures, counted } = countSince(verdict.counted, fresh);
  const share = isTold(fresh) ? shareOf(failures, answers) : failureShare(fresh);
  if (isDown || (inStateMs >= PROBE_MS && share >= RECOVERED_SHARE)) {
    return enterFailing(seen, Math.min(WAIT_MAX_MS, verdict.waitMs * 2), isDown, nowMs);
  }
  // Without an answer nothing has been probed: a quiet connector gets one now and then, a silent carrier's is late.
  const isOpen = isTold(fresh) && answers === 0;
  if (inStateMs < (isOpen ? PROBE_MAX_MS : PROBE_MS)) return { ...seen, counted };
  return { ...seen, state: "healthy", sinceMs: nowMs, cause: "", counted: countsNow(fresh) };
}

function judgeHealthy(
  verdict: Verdict,
  fresh: readonly BindHealth[],
  isDown: boolean,
  nowMs: number,
): Verdict {
  const { answers, failures, counted } = countSince(verdict.counted, fresh);
  const isCounting = isTold(fresh);
  // One that fails whatever it is given is given less and less to answer.
  const isFailingAgain = verdict.strikes > 0 && answers > 0 && failures === answers;
  const isJudged = !isCounting || answers >= ANSWERS_MIN || isFailingAgain;
  const isBad =
    isJudged &&
    failureShare(fresh) >= FAILING_SHARE &&
    (!isCounting || shareOf(failures, answers) >= FAILING_SHARE);
  // Too few answers neither make a strike nor forgive one.
  const kept = isJudged ? 0 : verdict.strikes;
  const strikes = isBad ? verdict.strikes + 1 : kept;
  if (strikes >= STRIKES || isDown) return enterFailing(verdict, verdict.waitMs, isDown, nowMs);
  const calmMs = nowMs - verdict.sinceMs;
  const waitMs = !isBad && calmMs > WAIT_MAX_MS ? WAIT_FIRST_MS : verdict.waitMs;
  return { ...verdict, strikes, waitMs, counted: isJudged ? countsNow(fresh) : counted };
}

function enterFailing(verdict: Verdict, waitMs: number, isDown: boolean, nowMs: number): Verdict {
  const cause = isDown ? "link" : "submits";
  return { ...verdict, state: "failing", sinceMs: nowMs, cause, strikes: 0, waitMs };
}

/** Whether every bind tells its counts: one that tells only its share would be left out of them. */
function isTold(reports: readonly BindHealth[]): boolean {
  return reports.every(({ answers, failures }) => answers !== undefined && failures !== undefined);
}

/** What the binds have counted in all. */
function countsNow(reports: readonly BindHealth[]): BindCount[] {
  return reports.flatMap(({ bind, answers, failures }) =>
    answers === undefined || failures === undefined ? [] : [{ bind, answers, failures }],
  );
}

/**
 * What the binds have answered and failed since they had counted so far. A bind that was not known counts
 * from now on, one whose counts have fallen began anew, from zero.
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
    const isAnew = now.answers < last.answers || now.failures < last.failures;
    const from = isAnew ? { bind: now.bind, answers: 0, failures: 0 } : last;
    answers += now.answers - from.answers;
    failures += now.failures - from.failures;
    return from;
  });
  return { answers, failures, counted };
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
  return shareOf(failed, weight);
}

function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
