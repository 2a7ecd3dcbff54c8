/** The longest pause after failures. */
const FAILED_MAX_MS = 60_000;
/** A page that shows the same for a while is asked for at most this many times less often. */
const QUIET_FACTOR_MAX = 4;

/**
 * The pause before the next request of a page, before its random part. After each failure in a row it doubles, up to a
 * minute, so that many open consoles do not ask a restarted gateway at once. After each answer like the one before it
 * grows by a half, up to four times; an answer that differs makes it short again.
 */
export function pollPauseMs(
  everyMs: number,
  { failures, repeats }: { readonly failures: number; readonly repeats: number },
): number {
  if (failures > 0) return Math.min(FAILED_MAX_MS, everyMs * 2 ** Math.min(failures, 6));
  return everyMs * Math.min(QUIET_FACTOR_MAX, 1.5 ** Math.min(repeats, 10));
}
