import type { Context } from "koa";
import { AppError } from "../../services/shared/core/errors.ts";
import { isDuplicateHeader } from "../http/duplicate-header.ts";
import type { RequestState } from "../http/request-state.ts";
import { setHeader } from "../http/set-header.ts";
import type { RateLimiter } from "../rate-limit/limiter.ts";
import type { Authenticator } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { type AddressMatcher, callerAddress } from "./caller-address.ts";

export type AdmissionParts = {
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly isTrustedProxy: AddressMatcher;
};

/** Authenticates the caller, then checks its address and its rate limit: 401, 403 `ip_not_allowed`, 429. */
export async function admit(parts: AdmissionParts, context: Context): Promise<Caller> {
  const { headers, rawHeaders, socket } = context.req;
  // Reject two keys: a proxy may have checked the other one.
  const credentials = isDuplicateHeader(rawHeaders, "authorization")
    ? undefined
    : headers.authorization;
  const caller = await parts.authenticator.authenticate(credentials);
  (context.state as RequestState).caller = caller;
  const forwardedFor = headers["x-forwarded-for"] as string | undefined;
  const address = callerAddress(socket.remoteAddress ?? "", forwardedFor, parts.isTrustedProxy);
  if (!caller.allowsAddress(address)) {
    throw new AppError("ip_not_allowed", "The API key may not be used from this IP address.");
  }
  const decision = await parts.rateLimiter.take(caller.tenantId, {
    rate: caller.rateLimit,
    burst: caller.burst,
    cost: 1,
  });
  setHeader(context, "RateLimit-Limit", String(caller.rateLimit));
  setHeader(context, "RateLimit-Remaining", String(decision.remaining));
  setHeader(context, "RateLimit-Reset", String(decision.resetS));
  if (!decision.isAllowed) {
    throw new AppError("rate_limited", "Too many requests; slow down.", {
      retryAfterMs: decision.retryAfterMs,
    });
  }
  return caller;
}
