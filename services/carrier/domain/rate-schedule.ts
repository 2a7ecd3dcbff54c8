/**
 * Grants permits for submits by two rules together:
 *
 * - No span of `SPAN_MS` (one second, plus 12 ms for network jitter) holds more submits than the rate.
 * - Permits are spaced evenly by the generic cell rate algorithm (ITU-T I.371 annex A). Submits may catch up by
 *   `TOLERANCE_MS`, so that a late timer or a suspended process does not lose its share.
 *
 * The first rule is the promise. The second keeps the stream a little below the rate, so that the promise also holds
 * where the carrier counts, although the network and the carrier's own pauses make bursts of submits.
 */

/** The permits that may be used now, and the delay before the next request is useful. */
export type Grant = { readonly count: number; readonly waitMs: number };

/** No span of this length holds more submits than the rate of one second. */
export const SPAN_MS = 1012;

/** How far submits may catch up after a delay. */
export const TOLERANCE_MS = 200;

/** The share of the rate that even spacing uses. */
const AIM = 0.977;

/** The interval between two permits at a rate, in microseconds. */
export function intervalUs(ratePerSecond: number): number {
  return 1_000_000 / (ratePerSecond * AIM);
}

/** The state of a rate limiter: the time of the next permit, and the grants of the last span. */
export type RateState = {
  readonly nextUs: number;
  readonly granted: readonly { readonly atUs: number; readonly count: number }[];
};

/** The state of a limiter that has granted nothing. */
export const EMPTY_RATE_STATE: RateState = { nextUs: 0, granted: [] };

/** Takes up to `wanted` permits; a span holds at most `most`. */
export function acquirePermits(
  state: RateState,
  nowUs: number,
  rate: { readonly intervalUs: number; readonly most: number },
  wanted: number,
): { readonly state: RateState; readonly grant: Grant } {
  const granted = state.granted.filter(({ atUs }) => atUs > nowUs - SPAN_MS * 1000);
  const used = granted.reduce((total, { count }) => total + count, 0);
  const from = Math.max(state.nextUs, nowUs - TOLERANCE_MS * 1000);
  const even = from > nowUs ? 0 : Math.floor((nowUs - from) / rate.intervalUs) + 1;
  const count = Math.max(0, Math.min(wanted, even, rate.most - used));
  const nextUs = from + count * rate.intervalUs;
  const oldest = granted[0]?.atUs ?? nowUs;
  const spanUs = used + count >= rate.most ? oldest + SPAN_MS * 1000 - nowUs : 0;
  const waitMs = Math.max(0, nextUs - nowUs, spanUs) / 1000;
  return {
    state: { nextUs, granted: count > 0 ? [...granted, { atUs: nowUs, count }] : granted },
    grant: { count, waitMs },
  };
}
