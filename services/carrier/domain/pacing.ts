/**
 * Even spacing of submits (the generic cell rate algorithm, ITU-T I.371 annex A): each submit has a
 * place on a line of evenly spaced instants, and may come early by a small tolerance but never by
 * more, so no second can hold more than the rate. Bursts are never saved up.
 */

/** How many submits may go now, and when to ask again. */
export type Grant = { readonly count: number; readonly waitMs: number };

/** How far submits may run ahead of their even places, so that a late timer costs nothing. */
export const TOLERANCE_MS = 10;

/**
 * The share of the configured rate that is aimed at. A second may hold rate × (1 + tolerance) and
 * what the network bunches together; two per cent keep that below the rate itself.
 */
export const AIM = 0.98;

/** The distance between two places at a rate, in microseconds. */
export function intervalUs(ratePerSecond: number): number {
  return 1_000_000 / (ratePerSecond * AIM);
}

/** Submits asked for at once: what fits in the tolerance, so that grants are used while fresh. */
export function grantMax(ratePerSecond: number): number {
  return 1 + Math.floor((TOLERANCE_MS * 1000) / intervalUs(ratePerSecond));
}

/** A pacer in memory, for one process; `nextUs` is the first free place on the line. */
export function takePlaces(
  nextUs: number,
  nowUs: number,
  interval: number,
  wanted: number,
): { readonly nextUs: number; readonly grant: Grant } {
  const from = Math.max(nextUs, nowUs - TOLERANCE_MS * 1000);
  const free = Math.floor((nowUs - from) / interval) + 1;
  const count = from > nowUs ? 0 : Math.min(wanted, free);
  const after = from + count * interval;
  return { nextUs: after, grant: { count, waitMs: Math.max(0, (after - nowUs) / 1000) } };
}
