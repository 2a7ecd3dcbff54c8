/**
 * How fast a bind may go after the carrier has said "slow down": additive increase, multiplicative
 * decrease. A throttled submit halves the part of the window in use and pauses the bind, twice as
 * long each time in a row; each accepted submit widens it again, by one after a window's worth.
 *
 * A carrier that answers nothing is served by one submit at a time, as what it gets is in doubt. Its
 * first answers then open the window fast, each by one, up to half of what it was (RFC 5681 section 3.1).
 */

/** A bind's pace. */
export type CongestionWindow = {
  /** Submits that may be unanswered now; from 1 to the window. */
  readonly allowance: number;
  /** Nothing is submitted before this instant. */
  readonly pausedUntilMs: number;
  /** How long the next pause is. */
  readonly nextPauseMs: number;
  /** Below this the allowance grows by one with each accepted submit. */
  readonly fastUntil: number;
  /** When the carrier last answered a submit, whatever it said. */
  readonly answeredAtMs: number;
};

const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 5000;
const JOURNAL_REST_MS = 1000;

/** The pace of a fresh bind: the whole window. */
export function openFlow(window: number): CongestionWindow {
  const pace = { allowance: window, pausedUntilMs: 0, nextPauseMs: PAUSE_MIN_MS };
  return { ...pace, fastUntil: 1, answeredAtMs: Number.NEGATIVE_INFINITY };
}

/** The pace after a throttled submit. Answers to one burst count as one: they say the same thing. */
export function throttle(flow: CongestionWindow, nowMs: number): CongestionWindow {
  if (nowMs < flow.pausedUntilMs) return flow;
  return { ...takeBreak(flow, nowMs), allowance: Math.max(1, flow.allowance / 2), fastUntil: 1 };
}

/**
 * The pace after a submit that left at `startedMs` and that the carrier has not answered. One that it lost
 * while it answered others says nothing of its pace. Those of one link that broke count as one.
 */
export function doubt(flow: CongestionWindow, startedMs: number, nowMs: number): CongestionWindow {
  if (flow.answeredAtMs > startedMs || nowMs < flow.pausedUntilMs) return flow;
  // A probe that fails says no more than the first silence did: where to open up to stays known.
  const fastUntil = flow.allowance > 1 ? flow.allowance / 2 : flow.fastUntil;
  return { ...takeBreak(flow, nowMs), allowance: 1, fastUntil };
}

/** The pace after any answer of the carrier's. */
export function noteAnswer(flow: CongestionWindow, nowMs: number): CongestionWindow {
  return { ...flow, answeredAtMs: nowMs };
}

function takeBreak(flow: CongestionWindow, nowMs: number): CongestionWindow {
  const pausedUntilMs = nowMs + flow.nextPauseMs;
  return { ...flow, pausedUntilMs, nextPauseMs: Math.min(PAUSE_MAX_MS, flow.nextPauseMs * 2) };
}

/** The pace after a submit that could not be journaled: each would come back the same, at once. */
export function rest(flow: CongestionWindow, nowMs: number): CongestionWindow {
  return { ...flow, pausedUntilMs: Math.max(flow.pausedUntilMs, nowMs + JOURNAL_REST_MS) };
}

/** The pace after an accepted submit. */
export function widen(flow: CongestionWindow, window: number): CongestionWindow {
  if (flow.allowance >= window && flow.nextPauseMs === PAUSE_MIN_MS) return flow;
  const step = flow.allowance < flow.fastUntil ? 1 : 1 / flow.allowance;
  const allowance = Math.min(window, flow.allowance + step);
  return { ...flow, allowance, nextPauseMs: PAUSE_MIN_MS };
}

/** How many more submits may go out now, with so many unanswered. */
export function roomOf(flow: CongestionWindow, inFlight: number, nowMs: number): number {
  if (nowMs < flow.pausedUntilMs) return 0;
  return Math.max(0, Math.floor(flow.allowance) - inFlight);
}
