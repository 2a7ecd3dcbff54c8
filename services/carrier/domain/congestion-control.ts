/**
 * The congestion window of a bind: additive increase, multiplicative decrease (AIMD).
 *
 * - A refusal of the bind itself (ESME_RINVBNDSTS 0x04, ESME_RALYBND 0x05) halves the window and pauses the bind
 *   for 100 ms; the pause doubles each time in a row, up to 5 s. Throttled submits lower the rate (`adaptive-rate.ts`).
 * - An accepted submit widens the window, by one after a window's worth of them.
 * - A carrier that answers nothing gets one submit at a time, because each of them is in doubt. Its first answers
 *   then open the window by one each, up to half of its earlier size (slow start, RFC 5681 section 3.1).
 */

export type CongestionWindow = {
  /** Submits that may be unanswered now: from 1 to the connector's window. */
  readonly size: number;
  /** Nothing is submitted before this instant. */
  readonly pausedUntilMs: number;
  /** The length of the next pause. */
  readonly nextPauseMs: number;
  /** Below this size each accepted submit widens the window by one (`ssthresh` of RFC 5681). */
  readonly slowStartThreshold: number;
  /** When the carrier last answered a submit, with any answer. */
  readonly answeredAtMs: number;
};

const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 5000;
const JOURNAL_PAUSE_MS = 1000;

/** A new bind starts with the whole window. */
export function openWindow(windowMax: number): CongestionWindow {
  const open = { size: windowMax, pausedUntilMs: 0, nextPauseMs: PAUSE_MIN_MS };
  return { ...open, slowStartThreshold: 1, answeredAtMs: Number.NEGATIVE_INFINITY };
}

/** The carrier refused the bind. Answers during the pause belong to the same burst and count once. */
export function onBindRefused(window: CongestionWindow, nowMs: number): CongestionWindow {
  if (nowMs < window.pausedUntilMs) return window;
  return { ...pause(window, nowMs), size: Math.max(1, window.size / 2), slowStartThreshold: 1 };
}

/**
 * A submit that left at `startedMs` got no answer. One that was lost while others were answered says nothing
 * about congestion. All submits of one broken link count once.
 */
export function onTimeout(
  window: CongestionWindow,
  startedMs: number,
  nowMs: number,
): CongestionWindow {
  if (window.answeredAtMs > startedMs || nowMs < window.pausedUntilMs) return window;
  // A failed probe of one submit keeps the threshold of the first timeout.
  const slowStartThreshold = window.size > 1 ? window.size / 2 : window.slowStartThreshold;
  return { ...pause(window, nowMs), size: 1, slowStartThreshold };
}

/** The carrier answered a submit, with any answer. */
export function onResponse(window: CongestionWindow, nowMs: number): CongestionWindow {
  return { ...window, answeredAtMs: nowMs };
}

/** The journal could not be written: without a pause every submit would come back at once. */
export function onJournalFailure(window: CongestionWindow, nowMs: number): CongestionWindow {
  return { ...window, pausedUntilMs: Math.max(window.pausedUntilMs, nowMs + JOURNAL_PAUSE_MS) };
}

/** A submit was accepted. */
export function onAccepted(window: CongestionWindow, windowMax: number): CongestionWindow {
  if (window.size >= windowMax && window.nextPauseMs === PAUSE_MIN_MS) return window;
  const step = window.size < window.slowStartThreshold ? 1 : 1 / window.size;
  const size = Math.min(windowMax, window.size + step);
  return { ...window, size, nextPauseMs: PAUSE_MIN_MS };
}

/** How many more submits may go out now. */
export function freeSlots(window: CongestionWindow, inFlight: number, nowMs: number): number {
  if (nowMs < window.pausedUntilMs) return 0;
  return Math.max(0, Math.floor(window.size) - inFlight);
}

function pause(window: CongestionWindow, nowMs: number): CongestionWindow {
  const pausedUntilMs = nowMs + window.nextPauseMs;
  return {
    ...window,
    pausedUntilMs,
    nextPauseMs: Math.min(PAUSE_MAX_MS, window.nextPauseMs * 2),
  };
}
