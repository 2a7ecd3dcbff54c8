/** Requests for sign-in links of one e-mail address or one caller's address, or codes of one person. */
export type Attempts = {
  readonly count: number;
  /** No further one before. */
  readonly nextAtMs: number;
  /** When they are forgotten. */
  readonly forgetAtMs: number;
};

const FREE = 3;
const FIRST_DELAY_MS = 15_000;
const DELAY_MAX_MS = 15 * 60_000;
const FORGET_MS = 3_600_000;

/**
 * Counts one more attempt. The first three are free; then each must wait twice as long as the one before, up to 15
 * minutes. An hour without one forgets them. Returns how long to wait instead when it comes too early; an early one is
 * not counted, so that a stranger cannot lock a person out for longer than the wait.
 */
export function countAttempt(
  before: Attempts | undefined,
  nowMs: number,
): { readonly after: Attempts } | { readonly waitMs: number } {
  const known = before !== undefined && nowMs < before.forgetAtMs ? before : undefined;
  if (known !== undefined && nowMs < known.nextAtMs) return { waitMs: known.nextAtMs - nowMs };
  const count = (known?.count ?? 0) + 1;
  const delayMs =
    count < FREE ? 0 : Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** Math.min(count - FREE, 10));
  return { after: { count, nextAtMs: nowMs + delayMs, forgetAtMs: nowMs + FORGET_MS } };
}
