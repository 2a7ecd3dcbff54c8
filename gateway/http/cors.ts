import type { Context } from "koa";

/** Sets the CORS headers of a response; none unless the origin is configured. */
export type Cors = (context: Context, allow: string | undefined) => void;

const EXPOSED = [
  "X-Request-Id",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "Location",
  "Idempotent-Replayed",
  "Deprecation",
  "Sunset",
  "Link",
].join(", ");

/** How long a browser may cache a preflight response, in seconds. */
const PREFLIGHT_S = "600";

/**
 * Allows cross-origin reads (WHATWG Fetch, "CORS protocol") for the given origins. An API key in a browser is
 * public, so by default no origin is allowed. With `allow` (the methods of the path) the response is that of a
 * preflight.
 */
export function createCors(origins: readonly string[]): Cors {
  if (origins.length === 0) return () => undefined;
  const allowed = new Set(origins);
  return (context, allow) => {
    context.vary("Origin");
    const origin = context.req.headers.origin;
    if (origin === undefined || !allowed.has(origin)) return;
    context.set("Access-Control-Allow-Origin", origin);
    context.set("Access-Control-Expose-Headers", EXPOSED);
    if (allow === undefined) return;
    context.set("Access-Control-Allow-Methods", allow);
    context.set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key");
    context.set("Access-Control-Max-Age", PREFLIGHT_S);
  };
}
