/** The form of an idempotency key (`docs/contract.md#idempotency`). */
export const KEY_FORM = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The time until which a record made now must be kept. The promised time starts when the request has finished,
 * by the clock of any replica; the record is made earlier.
 */
export function keptUntilMs(nowMs: number, keepMs: number): number {
  return nowMs + keepMs + Math.min(60_000, keepMs / 1000);
}
