/**
 * Submits within a rate, decided by two rules together:
 *
 * - no span of `SPAN_MS` (a second and what a network may bunch together) holds more than the rate;
 * - submits are spread evenly (the generic cell rate algorithm, ITU-T I.371 annex A), and may run
 *   ahead of their even places by `TOLERANCE_MS`, so that a late timer or a stalled process catches
 *   up instead of losing its share.
 *
 * The first rule is the promise. The second keeps the stream a little below it, so that the promise
 * also holds where the carrier counts, although the network and the carrier's own pauses bunch
 * submits together; and it makes up for this side's pauses as far as the first rule allows.
 */

/** How many submits may go now, and when to ask again. */
export type Grant = { readonly count: number; readonly waitMs: number };

/** The span that never holds more submits than one second may. */
export const SPAN_MS = 1012;

/** How far submits may run ahead of their even places. */
export const TOLERANCE_MS = 200;

/** The share of the rate that even spacing aims at. */
export const AIM = 0.977;

/** The distance between two places at a rate, in microseconds. */
export function intervalUs(ratePerSecond: number): number {
  return 1_000_000 / (ratePerSecond * AIM);
}

/** A pacer's memory: the next even place, and what was granted within the last span. */
export type RateState = {
  readonly nextUs: number;
  readonly granted: readonly { readonly atUs: number; readonly count: number }[];
};

/** The memory of a pacer that has granted nothing. */
export const EMPTY_LINE: RateState = { nextUs: 0, granted: [] };

/** Takes up to `wanted` places; `most` is how many a span may hold. */
export function acquirePermits(
  line: RateState,
  nowUs: number,
  rate: { readonly intervalUs: number; readonly most: number },
  wanted: number,
): { readonly line: RateState; readonly grant: Grant } {
  const granted = line.granted.filter(({ atUs }) => atUs > nowUs - SPAN_MS * 1000);
  const used = granted.reduce((total, { count }) => total + count, 0);
  const from = Math.max(line.nextUs, nowUs - TOLERANCE_MS * 1000);
  const even = from > nowUs ? 0 : Math.floor((nowUs - from) / rate.intervalUs) + 1;
  const count = Math.max(0, Math.min(wanted, even, rate.most - used));
  const nextUs = from + count * rate.intervalUs;
  const oldest = granted[0]?.atUs ?? nowUs;
  const spanUs = used + count >= rate.most ? oldest + SPAN_MS * 1000 - nowUs : 0;
  const waitMs = Math.max(0, nextUs - nowUs, spanUs) / 1000;
  return {
    line: { nextUs, granted: count > 0 ? [...granted, { atUs: nowUs, count }] : granted },
    grant: { count, waitMs },
  };
}
