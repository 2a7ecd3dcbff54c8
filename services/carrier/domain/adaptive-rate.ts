/**
 * The adaptive rate of a bind: how many submits per second it tries after its carrier has throttled some (ADR 109).
 *
 * The limit begins with the first throttling refusal that counts (`app/refusal-evidence.ts`) and ends when it limits
 * nothing any more. Each refusal lowers it by 1.8 %. Each accept raises it so that it stays the same when one submit
 * in twenty is refused: then the carrier's capacity is used and few submits are refused.
 *
 * A run of refusals without an accept is either a carrier that accepts nothing or a series of numbers that it refuses.
 * The first refusals of a run cost little, so that a series of forty numbers passes within a second. Each further one
 * costs more, down to one submit per second. After a run, accepts raise the limit by half each, up to the geometric
 * mean of the rates before and after the run.
 */
import type { ThrottleScope } from "./message.ts";

export type AdaptiveRate = {
  /** Submits per second; infinite while nothing limits them. */
  readonly perSecond: number;
  /** Nothing is submitted before this instant. */
  readonly nextAtMs: number;
  /** Refusals since the last accept. */
  readonly run: number;
  /** The rate before the run. */
  readonly runStart: number;
  /** Accepts since the last refusal; a refusal of a weight below 1 removes only that share of them. */
  readonly streak: number;
  /** Below this rate each accept raises the rate by half (slow start, RFC 5681 section 3.1). */
  readonly slowStartThreshold: number;
};

/** The rate of a new bind: only the window limits it. */
export const UNLIMITED: AdaptiveRate = {
  perSecond: Number.POSITIVE_INFINITY,
  nextAtMs: 0,
  run: 0,
  runStart: 0,
  streak: 0,
  slowStartThreshold: 0,
};

/** The submits per second to a carrier that accepts nothing. */
export const RATE_MIN = 1;
/** The natural logarithm of the factor by which a refusal lowers the rate. */
const STEP = 0.018;
/** The share of refused submits at which the rate stays the same. */
const REFUSED_SHARE = 0.05;
const GAIN = (STEP * REFUSED_SHARE) / (1 - REFUSED_SHARE);
/** Refusals in a run after which each further one costs more. */
const RUN_CHEAP: Readonly<Record<ThrottleScope, number>> = { bind: 50, number: 100 };
/** A run of this many refusals is followed by a slow start. */
const RUN_LONG = 5;
/** Accepts in a row that begin a slow start: a carrier with little capacity accepts one now and then. */
const SLOW_START_STREAK = 3;
const SLOW_START_FACTOR = 1.5;
/** Accepts in a row after which the gain doubles. With one refusal in twenty, one run of accepts in five is as long. */
const STREAK = 30;
const STREAK_GAIN_MAX = 0.1;
/** How far a late timer may catch up: it may make the submits of the last 20 ms at once. */
const CATCH_UP_MS = 20;

/** A throttling refusal. */
export type Refusal = {
  readonly scope: ThrottleScope;
  /** From 0 to 1: less than 1 when the refusal is likely about one number and not about the bind. */
  readonly weight: number;
  /** The rate at which the limit begins. */
  readonly startPerSecond: number;
};

/** A submit was throttled. */
export function onRefusal(rate: AdaptiveRate, refusal: Refusal): AdaptiveRate {
  const before = Math.min(rate.perSecond, refusal.startPerSecond);
  const run = rate.run + 1;
  const step = STEP * refusal.weight * Math.max(1, run / RUN_CHEAP[refusal.scope]);
  return {
    ...rate,
    perSecond: Math.max(RATE_MIN, before * Math.exp(-step)),
    run,
    runStart: run === 1 ? before : rate.runStart,
    streak: rate.streak * (1 - refusal.weight),
    slowStartThreshold: 0,
  };
}

/** A submit was accepted. From `ceilingPerSecond` on there is no limit. */
export function onAccept(rate: AdaptiveRate, ceilingPerSecond: number): AdaptiveRate {
  if (rate.perSecond === Number.POSITIVE_INFINITY) return rate;
  const streak = rate.streak + 1;
  const slowStartThreshold =
    rate.run >= RUN_LONG ? Math.sqrt(rate.runStart * rate.perSecond) : rate.slowStartThreshold;
  const isSlowStart = rate.perSecond < slowStartThreshold && streak >= SLOW_START_STREAK;
  const gain = Math.exp(Math.min(STREAK_GAIN_MAX, GAIN * 2 ** (streak / STREAK)));
  const perSecond = isSlowStart
    ? Math.min(slowStartThreshold, rate.perSecond * SLOW_START_FACTOR)
    : rate.perSecond * gain;
  if (perSecond >= ceilingPerSecond) return UNLIMITED;
  return { ...rate, perSecond, streak, run: 0, slowStartThreshold };
}

/** Counts a submit. */
export function onSubmit(rate: AdaptiveRate, nowMs: number): AdaptiveRate {
  if (rate.perSecond === Number.POSITIVE_INFINITY) return rate;
  return { ...rate, nextAtMs: nextAt(rate, nowMs) + 1000 / rate.perSecond };
}

/** Submits that may go out now. */
export function allowedNow(rate: AdaptiveRate, nowMs: number): number {
  if (rate.perSecond === Number.POSITIVE_INFINITY) return rate.perSecond;
  const fromMs = nextAt(rate, nowMs);
  return fromMs > nowMs ? 0 : 1 + Math.floor(((nowMs - fromMs) * rate.perSecond) / 1000);
}

/** Submits that may go out within a time from now, at least one. */
export function allowedWithin(rate: AdaptiveRate, ms: number): number {
  return Math.max(1, Math.ceil((rate.perSecond * ms) / 1000));
}

function nextAt({ nextAtMs }: AdaptiveRate, nowMs: number): number {
  return Math.max(nextAtMs, nowMs - CATCH_UP_MS);
}
