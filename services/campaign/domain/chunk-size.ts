/** How many rows a campaign may feed now. */
import type { Campaign } from "./campaign.ts";

/** The most rows in one chunk. */
const CHUNK_ROWS_MAX = 500;

/**
 * Messages that may wait in messaging's queue: what the carriers take in this time, within the bounds. Few enough that
 * a pause takes effect at once and no message expires in the queue; enough that the carriers never wait.
 */
const AHEAD_MS = 10_000;
/** Counts follow events, which come in batches, so they lag by this time: the queue may be shorter. */
export const COUNTS_AGE_MS = 3000;
const AHEAD_MIN = 500;
const AHEAD_MAX = 5000;

/** With a rate, the feeding catches up at most this much of a pause. */
const RATE_BURST_MS = 1000;

/**
 * The most messages that a campaign may have in the queue. `sentPerSecond` is the rate at which its messages left the
 * queue in the last seconds.
 */
export function queueAheadMax(sentPerSecond: number): number {
  const ahead = Math.ceil((sentPerSecond * (AHEAD_MS + COUNTS_AGE_MS)) / 1000);
  return Math.min(AHEAD_MAX, Math.max(AHEAD_MIN, ahead));
}

/** The size of the next chunk; 0 when nothing may be fed now. */
export function chunkSize(campaign: Campaign, aheadMax: number, nowMs: number): number {
  const { progress, content } = campaign;
  const room = aheadMax - progress.queued;
  const size = Math.min(CHUNK_ROWS_MAX, progress.waiting, room, allowedByRate(campaign, nowMs));
  // Small chunks cost a transaction for few rows: wait for room for a quarter, unless little is left or a rate rules.
  const isWorthwhile = content.ratePerSecond !== undefined || size >= CHUNK_ROWS_MAX / 4;
  return isWorthwhile || size === progress.waiting ? Math.max(0, size) : 0;
}

/** When the rate allows the row after this chunk (the generic cell rate algorithm, ITU-T I.371). */
export function nextFeedAt(campaign: Campaign, size: number, nowMs: number): number {
  const { ratePerSecond } = campaign.content;
  if (ratePerSecond === undefined) return 0;
  return Math.max(campaign.nextFeedAtMs, nowMs - RATE_BURST_MS) + (size * 1000) / ratePerSecond;
}

function allowedByRate({ content, nextFeedAtMs }: Campaign, nowMs: number): number {
  const { ratePerSecond } = content;
  if (ratePerSecond === undefined) return Number.POSITIVE_INFINITY;
  const since = Math.min(RATE_BURST_MS, nowMs - nextFeedAtMs);
  return Math.max(0, Math.floor((since * ratePerSecond) / 1000));
}

/** The rest of the budget for the next chunk; undefined without a budget. */
export function budgetLeft({ content, progress, openChunkMax }: Campaign): bigint | undefined {
  if (content.budget === undefined) return undefined;
  return content.budget - progress.charged - progress.held - openChunkMax;
}
