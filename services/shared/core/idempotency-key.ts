/** The form of an idempotency key (`decisions.md` "Idempotency"). */
export const KEY_FORM = /^[A-Za-z0-9_-]{1,64}$/;
