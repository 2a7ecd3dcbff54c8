/**
 * The statuses that mean throttling, and whether each is first taken as a limit of the bind or of one number. A
 * connector may add statuses and change their scopes. `outcome.ts` delays the message; `../app/refusal-evidence.ts`
 * decides whether the bind slows down, and `adaptive-rate.ts` how much.
 */
import { STATUS } from "../../shared/smpp/statuses.ts";
import type { PartOutcome, ThrottleScope } from "./message.ts";

/** A status of the carrier to its scope. */
export type ThrottleScopes = ReadonlyMap<number, ThrottleScope>;

const SMPP_SCOPES: readonly [number, ThrottleScope][] = [
  [STATUS.ESME_RTHROTTLED, "bind"],
  [STATUS.ESME_RMSGQFUL, "number"],
];
/** Too Many Requests (RFC 6585 section 4) and Service Unavailable (RFC 9110 section 15.6.4). */
const HTTP_SCOPES: readonly [number, ThrottleScope][] = [
  [429, "bind"],
  [503, "bind"],
];

/** The scopes of an SMPP connector; its own, by hexadecimal status, replace the usual ones. */
export function smppThrottleScopes(own: Readonly<Record<string, string>>): ThrottleScopes {
  return withOwn(SMPP_SCOPES, own);
}

/** The scopes of an HTTP connector; its own, by decimal status, replace the usual ones. */
export function httpThrottleScopes(own: Readonly<Record<string, string>>): ThrottleScopes {
  return withOwn(HTTP_SCOPES, own);
}

/** A refusal of a submit because of throttling. */
export function throttled(code: string, scope: ThrottleScope, retryAfterMs = 0): PartOutcome {
  return { kind: "refused", code, disposition: "throttled", scope, retryAfterMs };
}

function withOwn(
  usual: readonly [number, ThrottleScope][],
  own: Readonly<Record<string, string>>,
): ThrottleScopes {
  const scopes = new Map(usual);
  for (const [status, scope] of Object.entries(own)) {
    scopes.set(Number(status), scope === "number" ? "number" : "bind");
  }
  return scopes;
}
