/**
 * Automatic disabling (`decisions.md` "Webhook endpoint management"): failures for days without one
 * success. The clock starts at the first failure after a success; one success clears it. The first
 * attempt that fails when the time is over disables.
 *
 * An attempt is judged by its endpoint as it was read before it, and that may be ten seconds old. So
 * each change names what it was judged by, and is written only where that still stands; and changes
 * of one endpoint are written in the order in which its attempts ended.
 */
import type { RequestResult } from "./delivery.ts";
import type { Endpoint } from "./endpoint.ts";

/** What an attempt means for its endpoint's health. */
export type HealthChange =
  | { readonly kind: "none" }
  | { readonly kind: "clear" }
  | { readonly kind: "failing" }
  | { readonly kind: "warn" }
  | {
      readonly kind: "disable";
      /** For the owner to read. */
      readonly reason: string;
    };

const DAY_MS = 86_400_000;

/**
 * Decides what follows from one attempt; `endpoint` is as it was read for this attempt. `isMarked`
 * tells that it is known to have failed since then: a success clears that too.
 */
export function decideHealthChange(
  endpoint: Pick<Endpoint, "failingSinceMs" | "warnedAtMs">,
  result: RequestResult,
  nowMs: number,
  disableAfterMs: number,
  isMarked: boolean,
): HealthChange {
  if (result.error === "") return endpoint.failingSinceMs === 0 && !isMarked ? NONE : CLEAR;
  if (endpoint.failingSinceMs === 0) return { kind: "failing" };
  const failingMs = nowMs - endpoint.failingSinceMs;
  if (failingMs >= disableAfterMs) {
    const since = new Date(endpoint.failingSinceMs).toISOString();
    const days = (disableAfterMs / DAY_MS).toLocaleString("en", { maximumFractionDigits: 1 });
    return {
      kind: "disable",
      reason: `Every delivery has failed since ${since}, for ${days} days or more.`,
    };
  }
  if (failingMs >= disableAfterMs / 2 && endpoint.warnedAtMs === 0) return { kind: "warn" };
  return NONE;
}

const NONE: HealthChange = { kind: "none" };
const CLEAR: HealthChange = { kind: "clear" };

/**
 * Adds a change to those of its endpoint that wait to be written, in order. A success overtakes the
 * failures before it; of what says the same twice, the first is enough, as a later attempt will say
 * it again. So few wait, however slow the writing is.
 */
export function addPendingChange<T extends { readonly change: HealthChange }>(
  waiting: readonly T[],
  added: T,
): readonly T[] {
  const { change } = added;
  if (change.kind === "none") return waiting;
  if (change.kind === "clear") return [added];
  return waiting.some((one) => one.change.kind === change.kind) ? waiting : [...waiting, added];
}
