/**
 * The documented retry rule: a timeout, a lost connection, 408, 409 `conflict`, 429 and every 5xx are tried again with
 * the same idempotency key, after `Retry-After`, else after 1 s, 2 s, 4 s and so on up to one minute.
 */
import type { SmsError } from "./errors.ts";

const FIRST_WAIT_MS = 1000;
/** A longer wait, such as that of a daily quota, is the caller's decision. */
const WAIT_MS_MAX = 60_000;

/** The wait before the next attempt, or undefined when the error is final. `random` is between 0 and 1. */
export function retryWaitMs(error: SmsError, attempt: number, random: number): number | undefined {
  if (!isRetryable(error)) return undefined;
  const asked = "retryAfterMs" in error ? error.retryAfterMs : undefined;
  if (asked !== undefined && asked > WAIT_MS_MAX) return undefined;
  const waitMs = asked ?? Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (attempt - 1));
  // Up to a quarter more, so that clients that failed together do not come back together; never less than the rule.
  return waitMs * (1 + random / 4);
}

function isRetryable(error: SmsError): boolean {
  if (!("status" in error)) return true;
  if (error.code === "conflict") return true;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

/** `Retry-After` in milliseconds: seconds, or a date (RFC 9110 section 10.2.3). */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
