/**
 * Automatic disabling (`docs/contract.md#webhook-endpoints`): days of failures without a success.
 * The time starts at the first failure after a success; a success resets it. The first attempt that
 * fails after `WEBHOOK_DISABLE_AFTER_MS` disables the endpoint.
 *
 * An attempt decides by the endpoint as it was read before the request, up to ten seconds ago. So
 * each change names the state it was decided on, and is written only if that state is unchanged.
 * Changes of one endpoint are written in the order in which its attempts ended.
 */
import type { RequestResult } from "./delivery.ts";
import type { Endpoint } from "./endpoint.ts";

/** The effect of one attempt on the health of its endpoint. */
export type HealthChange =
  | { readonly kind: "none" }
  | { readonly kind: "clear" }
  | { readonly kind: "failing" }
  | { readonly kind: "warn" }
  | {
      readonly kind: "disable";
      /** The owner reads it. */
      readonly reason: string;
    };

const DAY_MS = 86_400_000;

/**
 * Decides when an endpoint is marked as failing, warned about or disabled. `endpoint` is as the
 * attempt read it. `isMarked` says that it failed since then: a success clears that too.
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
 * Adds a change to the waiting ones of its endpoint, in order. A success replaces the failures
 * before it. Of two equal changes the first is enough: a later attempt repeats it. So few changes
 * wait, however slow the writes are.
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
