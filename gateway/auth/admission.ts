import type { Context } from "koa";
import { AppError } from "../../services/shared/core/errors.ts";
import type { ConnectionShares } from "../http/connection-shares.ts";
import { isDuplicateHeader } from "../http/duplicate-header.ts";
import type { RequestState } from "../http/request-state.ts";
import { setHeader } from "../http/set-header.ts";
import type { RateLimiter } from "../rate-limit/limiter.ts";
import { requestCost } from "../rate-limit/request-cost.ts";
import type { Authenticator } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { type AddressMatcher, callerAddress } from "./caller-address.ts";

export type AdmissionParts = {
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly isTrustedProxy: AddressMatcher;
  readonly connections: ConnectionShares;
};

/** The network address of the client, behind trusted proxies too. */
export function addressOf(
  { isTrustedProxy }: Pick<AdmissionParts, "isTrustedProxy">,
  { req }: Context,
): string {
  const forwardedFor = req.headers["x-forwarded-for"] as string | undefined;
  return callerAddress(req.socket.remoteAddress ?? "", forwardedFor, isTrustedProxy);
}

/**
 * Authenticates the caller and checks its address; throws 401, or 403 `ip_not_allowed`. Callers always call `charge`
 * next. One function that awaits both would allocate 2 KB more for each request (`make bench-allocation`).
 */
export async function identify(parts: AdmissionParts, context: Context): Promise<Caller> {
  const { headers, rawHeaders, socket } = context.req;
  // Reject two `Authorization` headers: a proxy may have checked the one that Node drops.
  const authorization = isDuplicateHeader(rawHeaders, "authorization")
    ? undefined
    : headers.authorization;
  const { method } = context;
  const caller = await parts.authenticator.authenticate({ method, headers, authorization });
  (context.state as RequestState).caller = caller;
  parts.connections.trust(socket);
  const address = addressOf(parts, context);
  (context.state as RequestState).address = address;
  if (!caller.allowsAddress(address)) {
    const text = `The API key may not be used from the address ${address}.`;
    throw new AppError("ip_not_allowed", text);
  }
  return caller;
}

/**
 * Takes the tokens of a request with a body of `bodyBytes`, less those already taken; throws 429 when too few are left.
 * A large body is charged before it is read, by its announced length, and for the rest afterwards.
 */
export async function charge(
  { rateLimiter }: AdmissionParts,
  context: Context,
  caller: Caller,
  bodyBytes: number,
): Promise<void> {
  const state = context.state as RequestState;
  const { rateLimit: rate, burst, tenantId } = caller;
  const cost = requestCost(bodyBytes, burst) - state.paidTokens;
  if (cost <= 0) return;
  const decision = await rateLimiter.take(tenantId, { rate, burst, cost });
  setHeader(context, "RateLimit-Limit", String(rate));
  setHeader(context, "RateLimit-Remaining", String(decision.remaining));
  setHeader(context, "RateLimit-Reset", String(decision.resetS));
  if (!decision.isAllowed) {
    const large = cost > 1 ? " A large body counts as several." : "";
    const text = `Too many requests: the account may send ${rate} each second. Slow down.${large}`;
    throw new AppError("rate_limited", text, {
      retryAfterMs: decision.retryAfterMs,
    });
  }
  state.paidTokens += cost;
}

/** Removes the headers that `charge` has set. */
export function removeRateLimitHeaders({ res }: Context): void {
  for (const name of ["Limit", "Remaining", "Reset"]) res.removeHeader(`RateLimit-${name}`);
}
