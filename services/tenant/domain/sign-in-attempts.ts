/** Requests for sign-in links of one e-mail address or one caller's address, or codes of one person. */
export type Attempts = {
  readonly count: number;
  /** The earliest time of the next attempt. */
  readonly nextAtMs: number;
  /** When the attempts are forgotten. */
  readonly forgetAtMs: number;
};

const FREE = 3;
const FIRST_DELAY_MS = 15_000;
const DELAY_MAX_MS = 15 * 60_000;
const FORGET_MS = 3_600_000;

/**
 * Counts one more attempt. The first three are free; the fourth must wait 15 s, each further one twice as long, up to
 * 15 minutes. An hour without an attempt resets the count. Returns how long to wait instead when the attempt comes too
 * early; an early attempt is not counted, so that a stranger cannot lock a person out for longer than the wait.
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
