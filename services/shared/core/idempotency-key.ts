/** The form of an idempotency key (`decisions.md` "Idempotency"). */
export const KEY_FORM = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Until when a record that is made now has to be kept. The promised time begins when its request has finished, by
 * any replica's clock, and the record is made before.
 */
export function keptUntilMs(nowMs: number, keepMs: number): number {
  return nowMs + keepMs + Math.min(60_000, keepMs / 1000);
}
