/** Statistics of one bind: totals since it began, and rates of its last 30 s. */
import { isJournalFailure, type PartOutcome } from "./message.ts";

/** The current figures of one bind. */
export type BindFigures = {
  readonly submitted: number;
  readonly throttled: number;
  readonly unknown: number;
  readonly receipts: number;
  /** Submits with an outcome, and those of them that the carrier failed. */
  readonly answers: number;
  readonly failures: number;
  readonly submitsPerSecond: number;
  readonly answerMsP99: number;
  readonly receiptSecondsP50: number;
  /** The share of the last 30 s of submits that the carrier failed. */
  readonly failureShare: number;
};

export type BindStats = {
  noteSubmit(nowMs: number): void;
  noteOutcome(outcome: PartOutcome, tookMs: number, nowMs: number): void;
  /** Counts a receipt; `afterMs` is the time since its submit, when known. */
  noteReceipt(afterMs?: number): void;
  read(nowMs: number): BindFigures;
  /** Submits accepted in the last whole second, or in the current one if there are more already. */
  acceptsPerSecond(nowMs: number): number;
};

const WINDOW_S = 30;
const RATE_S = 5;
const SAMPLES = 512;

type Second = { at: number; submits: number; answers: number; failures: number; accepts: number };

export function createBindStats(): BindStats {
  const totals = { submitted: 0, throttled: 0, unknown: 0, receipts: 0, answers: 0, failures: 0 };
  const answerMs = createSamples();
  const receiptMs = createSamples();
  const seconds: Second[] = Array.from({ length: WINDOW_S }, () => emptySecond(-1));

  function secondAt(nowMs: number): Second {
    const at = Math.floor(nowMs / 1000);
    // A process's own clock begins at zero, so the second before its first one is negative.
    const index = ((at % WINDOW_S) + WINDOW_S) % WINDOW_S;
    let second = seconds[index] as Second;
    if (second.at !== at) {
      second = emptySecond(at);
      seconds[index] = second;
    }
    return second;
  }

  return {
    noteSubmit(nowMs) {
      totals.submitted += 1;
      secondAt(nowMs).submits += 1;
    },
    noteOutcome(outcome, tookMs, nowMs) {
      const second = secondAt(nowMs);
      second.answers += 1;
      totals.answers += 1;
      if (outcome.kind === "accepted") second.accepts += 1;
      if (isCarrierFailure(outcome)) {
        second.failures += 1;
        totals.failures += 1;
      }
      if (outcome.kind === "unknown") totals.unknown += 1;
      else answerMs.add(tookMs);
      if (outcome.kind === "refused" && outcome.disposition === "throttled") totals.throttled += 1;
    },
    noteReceipt(afterMs) {
      totals.receipts += 1;
      if (afterMs !== undefined) receiptMs.add(afterMs);
    },
    acceptsPerSecond: (nowMs) => Math.max(secondAt(nowMs - 1000).accepts, secondAt(nowMs).accepts),
    read(nowMs) {
      const now = Math.floor(nowMs / 1000);
      const fresh = seconds.filter(({ at }) => at > now - WINDOW_S && at <= now);
      const answers = sum(fresh, ({ answers: count }) => count);
      const failures = sum(fresh, ({ failures: count }) => count);
      const latest = fresh.filter(({ at }) => at >= now - RATE_S && at < now);
      return {
        ...totals,
        submitsPerSecond: sum(latest, ({ submits }) => submits) / RATE_S,
        answerMsP99: answerMs.quantile(0.99),
        receiptSecondsP50: receiptMs.quantile(0.5) / 1000,
        failureShare: answers === 0 ? 0 : failures / answers,
      };
    },
  };
}

/**
 * Refusals of a message and throttling are no failures of the carrier. A journal that cannot be written counts as one,
 * so that messages take another route.
 */
function isCarrierFailure(outcome: PartOutcome): boolean {
  if (isJournalFailure(outcome)) return true;
  if (outcome.kind === "unknown") return true;
  if (outcome.kind !== "refused") return false;
  return outcome.disposition === "temporary" || outcome.disposition === "bind";
}

function emptySecond(at: number): Second {
  return { at, submits: 0, answers: 0, failures: 0, accepts: 0 };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

function createSamples() {
  const values: number[] = [];
  let next = 0;
  return {
    add(value: number): void {
      values[next] = value;
      next = (next + 1) % SAMPLES;
    },
    quantile(share: number): number {
      if (values.length === 0) return 0;
      const sorted = [...values].sort((a, b) => a - b);
      return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    },
  };
}
