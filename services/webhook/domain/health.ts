/**
 * Automatic disabling (`decisions.md` "Webhook endpoint management"): failures for days without one
 * success. The clock starts at the first failure after a success; one success clears it. The first
 * attempt that fails when the time is over disables. An answer of 410 Gone (RFC 9110 section
 * 15.5.11) disables at once: the receiver says that it wants no more.
 */
import { type AttemptResult, GONE } from "./delivery.ts";
import type { Endpoint } from "./endpoint.ts";

/** What an attempt means for its endpoint's health. */
export type HealthChange =
  | { readonly kind: "none" }
  | { readonly kind: "clear" }
  | { readonly kind: "failing" }
  | { readonly kind: "warn" }
  | {
      readonly kind: "disable";
      readonly cause: "gone" | "failing";
      /** For the owner to read. */
      readonly reason: string;
    };

const DAY_MS = 86_400_000;

/** Decides what follows from one attempt; `endpoint` is as it was read for this attempt. */
export function judgeHealth(
  endpoint: Pick<Endpoint, "failingSinceMs" | "warnedAtMs">,
  result: AttemptResult,
  nowMs: number,
  disableAfterMs: number,
): HealthChange {
  if (result.error === "") return endpoint.failingSinceMs === 0 ? NONE : { kind: "clear" };
  if (result.httpStatus === GONE) {
    return { kind: "disable", cause: "gone", reason: "The endpoint answered 410 Gone." };
  }
  if (endpoint.failingSinceMs === 0) return { kind: "failing" };
  const failingMs = nowMs - endpoint.failingSinceMs;
  if (failingMs >= disableAfterMs) {
    const since = new Date(endpoint.failingSinceMs).toISOString();
    const days = (disableAfterMs / DAY_MS).toLocaleString("en", { maximumFractionDigits: 1 });
    return {
      kind: "disable",
      cause: "failing",
      reason: `Every delivery has failed since ${since}, for ${days} days or more.`,
    };
  }
  if (failingMs >= disableAfterMs / 2 && endpoint.warnedAtMs === 0) return { kind: "warn" };
  return NONE;
}

const NONE: HealthChange = { kind: "none" };
