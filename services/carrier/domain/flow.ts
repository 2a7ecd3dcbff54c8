/**
 * How fast a bind may go after the carrier has said "slow down": additive increase, multiplicative
 * decrease. A throttled submit halves the part of the window in use and pauses the bind, twice as
 * long each time in a row; each accepted submit widens it again, by one after a window's worth.
 */

/** A bind's pace. */
export type Flow = {
  /** Submits that may be unanswered now; from 1 to the window. */
  readonly allowance: number;
  /** Nothing is submitted before this instant. */
  readonly pausedUntilMs: number;
  /** How long the next pause is. */
  readonly nextPauseMs: number;
};

const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 5000;
const JOURNAL_REST_MS = 1000;

/** The pace of a fresh bind: the whole window. */
export function openFlow(window: number): Flow {
  return { allowance: window, pausedUntilMs: 0, nextPauseMs: PAUSE_MIN_MS };
}

/** The pace after a throttled submit. Answers to one burst count as one: they say the same thing. */
export function throttle(flow: Flow, nowMs: number): Flow {
  if (nowMs < flow.pausedUntilMs) return flow;
  return {
    allowance: Math.max(1, flow.allowance / 2),
    pausedUntilMs: nowMs + flow.nextPauseMs,
    nextPauseMs: Math.min(PAUSE_MAX_MS, flow.nextPauseMs * 2),
  };
}

/** The pace after a submit that could not be journaled: each would come back the same, at once. */
export function rest(flow: Flow, nowMs: number): Flow {
  return { ...flow, pausedUntilMs: Math.max(flow.pausedUntilMs, nowMs + JOURNAL_REST_MS) };
}

/** The pace after an accepted submit. */
export function widen(flow: Flow, window: number): Flow {
  if (flow.allowance >= window && flow.nextPauseMs === PAUSE_MIN_MS) return flow;
  const allowance = Math.min(window, flow.allowance + 1 / flow.allowance);
  return { ...flow, allowance, nextPauseMs: PAUSE_MIN_MS };
}

/** How many more submits may go out now, with so many unanswered. */
export function roomOf(flow: Flow, inFlight: number, nowMs: number): number {
  if (nowMs < flow.pausedUntilMs) return 0;
  return Math.max(0, Math.floor(flow.allowance) - inFlight);
}
